//! The elements of BYTES tensors: each is its length as a little-endian `u32`, then its bytes.
//!
//! What lies in an arena is parsed from a copy: the lengths decide where the next element begins.

/// Bytes before each element.
pub const PREFIX: usize = size_of::<u32>();

/// Bytes that are not the elements that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElementsError {
    #[error("the bytes end within element {index}")]
    Truncated { index: u64 },
    #[error("{found} elements and then {left} bytes more; expected {expected} elements")]
    TooMany { found: u64, left: usize, expected: u64 },
    #[error("{found} elements; expected {expected}")]
    TooFew { found: u64, expected: u64 },
    #[error("an element of {0} bytes is longer than 32 bits can tell")]
    TooLong(usize),
}

/// Iterates over the elements in `bytes`; ends after the first error.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
    index: u64,
}

/// The elements in `bytes`, which must be private memory.
#[must_use]
pub const fn elements(bytes: &[u8]) -> Elements<'_> {
    Elements { rest: bytes, index: 0 }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<&'a [u8], ElementsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let split = self.rest.split_first_chunk::<PREFIX>().and_then(|(prefix, rest)| {
            rest.split_at_checked(usize::try_from(u32::from_le_bytes(*prefix)).ok()?)
        });
        let Some((element, rest)) = split else {
            self.rest = &[];
            return Some(Err(ElementsError::Truncated { index: self.index }));
        };
        self.rest = rest;
        self.index += 1;
        Some(Ok(element))
    }
}

/// Checks that `bytes` are exactly `expected` elements.
pub fn check(bytes: &[u8], expected: u64) -> Result<(), ElementsError> {
    let mut elements = elements(bytes);
    while elements.index < expected {
        match elements.next() {
            None => return Err(ElementsError::TooFew { found: elements.index, expected }),
            Some(element) => element?,
        };
    }
    match elements.rest.len() {
        0 => Ok(()),
        left => Err(ElementsError::TooMany { found: expected, left, expected }),
    }
}

/// Appends one element.
pub fn push(bytes: &mut Vec<u8>, element: &[u8]) -> Result<(), ElementsError> {
    let length = u32::try_from(element.len()).map_err(|_| ElementsError::TooLong(element.len()))?;
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(element);
    Ok(())
}

#[cfg(test)]
mod tests;
