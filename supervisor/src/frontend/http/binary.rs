//! The binary-data extension: the body begins with JSON of a length that a header tells, and tensors follow it.

use bytes::Buf;
use nereid_core::error::ServeError;

use crate::frontend::rope::RopeReader;
use crate::serve::tensor_data::TensorData;

/// The header that tells the length of the JSON part.
pub(crate) const HEADER_LENGTH: &str = "inference-header-content-length";

/// The length of the JSON part of a body of `body_length` bytes: all of it without the header.
///
/// As lenient as the C library function that clients of Triton meet: white space before the number and anything after
/// it are skipped.
pub(crate) fn json_length(header: Option<&[u8]>, body_length: usize) -> Result<usize, ServeError> {
    let Some(header) = header else { return Ok(body_length) };
    let text = String::from_utf8_lossy(header);
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let sign = usize::from(trimmed.starts_with(['-', '+']));
    let digits = trimmed.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(ServeError::invalid(format!(
            "Unable to parse Inference-Header-Content-Length, got: {text}"
        )));
    }
    let Ok(length) = trimmed[..sign + digits].parse::<i32>() else {
        return Err(ServeError::invalid(format!(
            "Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: \
             {text}"
        )));
    };
    usize::try_from(length).ok().filter(|&length| length <= body_length).ok_or_else(|| {
        ServeError::invalid(format!(
            "inference header size should be in range (0, {body_length}), got: {text}"
        ))
    })
}

/// Cuts tensors off what follows the JSON part, one after the other.
#[derive(Debug)]
pub(crate) struct Cutter(RopeReader);

impl Cutter {
    pub(crate) const fn new(tensors: RopeReader) -> Self {
        Self(tensors)
    }

    /// The next `size` bytes, in the pieces in which they came; the number of missing bytes if there are fewer.
    pub(crate) fn cut(&mut self, size: u64) -> Result<TensorData, u64> {
        let missing = size.saturating_sub(self.0.remaining() as u64);
        usize::try_from(size).ok().and_then(|size| self.0.cut(size)).ok_or(missing)
    }

    /// Whether every byte belongs to a tensor.
    pub(crate) fn is_used_up(&self) -> bool {
        !self.0.has_remaining()
    }
}

#[cfg(test)]
mod tests;
