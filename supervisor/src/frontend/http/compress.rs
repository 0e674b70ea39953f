//! gzip and deflate for inference bodies, with a bound on what they may grow to.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use nereid_core::error::ServeError;

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    Deflate,
}

impl Encoding {
    /// The encoding that `Content-Encoding` names, in exactly that spelling.
    pub(crate) fn of_request(header: Option<&[u8]>) -> Result<Self, ServeError> {
        match header {
            None | Some(b"" | b"identity") => Ok(Self::Identity),
            Some(b"gzip") => Ok(Self::Gzip),
            Some(b"deflate") => Ok(Self::Deflate),
            Some(_) => Err(ServeError::unsupported("Unsupported compression type")),
        }
    }

    /// The best encoding of an `Accept-Encoding` header: the greatest weight wins, the first of equals.
    pub(crate) fn accepted(header: Option<&str>) -> Self {
        let mut best = (Self::Identity, 0.0);
        for entry in header.unwrap_or_default().split(',') {
            let (name, weight) = match entry.split_once(";q=") {
                Some((name, weight)) => (name, weight.trim().parse().unwrap_or(0.0)),
                None => (entry, 1.0),
            };
            let encoding = match name.trim_start_matches(' ') {
                "identity" => Self::Identity,
                "gzip" => Self::Gzip,
                "deflate" => Self::Deflate,
                _ => continue,
            };
            if weight > best.1 {
                best = (encoding, weight);
            }
        }
        best.0
    }

    /// As `Content-Encoding` tells it.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Deflate => Some("deflate"),
        }
    }
}

/// First step of the buffer that a body is unpacked into.
const GROWTH: usize = 64 * 1024;

/// Unpacks a body; refuses one that grows beyond `size_max`.
pub(crate) fn decompress(body: &[u8], size_max: u64) -> Result<Bytes, ServeError> {
    // Either name is used for either format in the wild: go by the first byte.
    let result = if body.starts_with(&[0x1f, 0x8b]) {
        bounded(MultiGzDecoder::new(body), size_max)
    } else {
        bounded(ZlibDecoder::new(body), size_max)
    };
    match result {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(ServeError::invalid(format!(
            "Decompressed data size exceeds the maximum allowed value of {size_max} bytes. Use \
             --http-max-input-size to increase the limit."
        ))),
        Err(error) => Err(ServeError::invalid(format!("failed to decompress the request body: {error}"))),
    }
}

fn bounded(decoder: impl Read, size_max: u64) -> io::Result<Option<Bytes>> {
    let mut out = Vec::with_capacity(GROWTH);
    let taken = decoder.take(size_max.saturating_add(1)).read_to_end(&mut out)?;
    Ok((taken as u64 <= size_max).then(|| out.into()))
}

/// Packs `pieces` into one.
pub(crate) fn compress<'a>(
    encoding: Encoding,
    pieces: impl IntoIterator<Item = &'a Bytes>,
) -> io::Result<Bytes> {
    fn all<'a, W: Write>(mut writer: W, pieces: impl IntoIterator<Item = &'a Bytes>) -> io::Result<W> {
        for piece in pieces {
            writer.write_all(piece)?;
        }
        Ok(writer)
    }
    let level = Compression::default();
    let packed = match encoding {
        Encoding::Gzip => all(GzEncoder::new(Vec::new(), level), pieces)?.finish()?,
        Encoding::Deflate => all(ZlibEncoder::new(Vec::new(), level), pieces)?.finish()?,
        Encoding::Identity => all(Vec::new(), pieces)?,
    };
    Ok(packed.into())
}

#[cfg(test)]
mod tests;
