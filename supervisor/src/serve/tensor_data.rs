//! The bytes of an input, as they came from the network.

use bytes::Bytes;

/// The bytes of a tensor, in the pieces in which they came. They are copied once, into the worker's arena, so that
/// joining them before would be a copy for nothing.
#[derive(Clone, Debug, Default)]
pub struct TensorData {
    first: Bytes,
    /// Empty for a tensor in one piece, as nearly all are.
    rest: Vec<Bytes>,
    length: usize,
}

impl TensorData {
    #[must_use]
    pub const fn len(&self) -> usize {
        self.length
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// The bytes, if they lie in one piece. Frontends join those of BYTES tensors, which have to be looked at.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[u8]> {
        self.rest.is_empty().then_some(&self.first)
    }
}

impl From<Bytes> for TensorData {
    fn from(first: Bytes) -> Self {
        Self { length: first.len(), first, rest: Vec::new() }
    }
}

impl FromIterator<Bytes> for TensorData {
    fn from_iter<I: IntoIterator<Item = Bytes>>(pieces: I) -> Self {
        let mut pieces = pieces.into_iter();
        let first = pieces.next().unwrap_or_default();
        let rest: Vec<Bytes> = pieces.collect();
        let length = first.len() + rest.iter().map(Bytes::len).sum::<usize>();
        Self { first, rest, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stay_pieces_and_their_lengths_add_up() {
        let pieces = ["ab", "c"].map(|text| Bytes::from_static(text.as_bytes()));
        let data: TensorData = pieces.iter().cloned().collect();
        assert_eq!((data.len(), data.as_slice()), (3, None));
        assert!(data.pieces().eq(&pieces));
        let whole = TensorData::from(Bytes::from_static(b"abc"));
        assert_eq!((whole.len(), whole.as_slice()), (3, Some(&b"abc"[..])));
        assert!(TensorData::default().is_empty());
    }
}
