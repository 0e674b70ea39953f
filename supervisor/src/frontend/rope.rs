//! Bytes in the pieces in which the network brought them.
//!
//! Joining a large tensor's pieces would be a copy for nothing: they are copied once, into a worker's arena. Small
//! pieces are joined, so that a client cannot make many of few bytes.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};

use crate::serve::tensor_data::TensorData;

/// Pieces up to here are joined with their neighbours.
const JOINED_PIECE: usize = 4096;

/// Bytes that arrive piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Rope {
    pieces: Vec<Bytes>,
    tail: BytesMut,
    length: usize,
}

impl Rope {
    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn push(&mut self, piece: Bytes) {
        self.length += piece.len();
        if piece.len() > JOINED_PIECE || self.length == piece.len() {
            self.seal();
            self.pieces.push(piece);
        } else {
            self.tail.extend_from_slice(&piece);
        }
    }

    /// Must follow the last [`push`](Self::push).
    pub(crate) fn seal(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push(self.tail.split().freeze());
        }
    }

    /// The pieces of a range, without a copy. Cut at the end.
    pub(crate) fn pieces(&self, range: Range<usize>) -> TensorData {
        let mut start = 0;
        let mut parts = Vec::new();
        for piece in &self.pieces {
            let end = start + piece.len();
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                parts.push(piece.slice(from - start..to - start));
            }
            start = end;
        }
        parts.into_iter().collect()
    }

    /// A range in one piece: a view if it lies in one, else a copy. Cut at the end.
    pub(crate) fn slice(&self, range: Range<usize>) -> Bytes {
        joined(&self.pieces(range))
    }

    /// The bytes from the first on, to be taken off piece by piece.
    pub(crate) fn into_reader(mut self) -> RopeReader {
        self.seal();
        let mut reader =
            RopeReader { current: Bytes::new(), rest: self.pieces.into_iter(), remaining: self.length };
        reader.step();
        reader
    }
}

impl From<Bytes> for Rope {
    fn from(bytes: Bytes) -> Self {
        let mut rope = Self::default();
        rope.push(bytes);
        rope
    }
}

/// A tensor in one piece.
pub(crate) fn joined(data: &TensorData) -> Bytes {
    let mut pieces = data.pieces();
    if data.as_slice().is_some() {
        return pieces.next().cloned().unwrap_or_default();
    }
    let mut whole = BytesMut::with_capacity(data.len());
    pieces.for_each(|piece| whole.extend_from_slice(piece));
    whole.freeze()
}

/// Takes bytes off a rope's beginning.
#[derive(Debug)]
pub(crate) struct RopeReader {
    current: Bytes,
    rest: std::vec::IntoIter<Bytes>,
    remaining: usize,
}

impl RopeReader {
    /// Goes on to a piece that is not empty, if there is one.
    fn step(&mut self) {
        while self.current.is_empty() {
            let Some(next) = self.rest.next() else { return };
            self.current = next;
        }
    }

    /// The next `length` bytes, without a copy; none if there are fewer.
    pub(crate) fn cut(&mut self, length: usize) -> Option<TensorData> {
        if length > self.remaining {
            return None;
        }
        let mut left = length;
        let taken = std::iter::from_fn(|| {
            if left == 0 {
                return None;
            }
            let piece = self.current.split_to(self.current.len().min(left));
            left -= piece.len();
            self.step();
            Some(piece)
        })
        .collect();
        self.remaining -= length;
        Some(taken)
    }
}

impl Buf for RopeReader {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        &self.current
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining, "advanced beyond the end of a rope");
        self.remaining -= count;
        while count > 0 {
            let part = count.min(self.current.len());
            self.current.advance(part);
            count -= part;
            self.step();
        }
    }
}

#[cfg(test)]
mod tests;
