//! The supervisor's side of the output arena: it makes the segments, and looks up what a worker says is in them.

use super::{
    error::ArenaError,
    layout::next_segment,
    segment::{NewSegment, Segment},
};
use crate::{
    datatype::DataType,
    descriptor::{self, DescriptorError, Fault, Limits},
    sys::mmap::Access,
};
use bytes::Bytes;
use nereid_proto::worker::{self, add_segment::Direction};

/// The output segments of one incarnation, mapped for reading only.
#[derive(Debug)]
pub struct OutputReader {
    /// By ascending number.
    segments: Vec<(u32, Segment)>,
    limit: u64,
    limits: Limits,
    mapped: u64,
    last_id: u32,
}

impl OutputReader {
    /// No segments; they may come to have `limit_bytes` in all.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Self { segments: Vec::new(), limit: limit_bytes, limits: Limits::default(), mapped: 0, last_id: 0 }
    }

    /// A segment with room for `needed` bytes, to be announced to the worker. What the worker asks for is bounded here.
    pub fn new_segment(&mut self, needed: u64) -> Result<NewSegment, ArenaError> {
        let last = self.segments.last().map_or(0, |(_, segment)| segment.len());
        let (mapped, limit) = (self.mapped, self.limit);
        let length = next_segment(needed, last, mapped, limit).ok_or(ArenaError::LimitReached {
            needed,
            mapped,
            limit,
        })?;
        let id = self.last_id.checked_add(1).ok_or(ArenaError::SegmentNumbers)?;
        let (segment, fd) = Segment::create(length, Access::Read)?;
        self.segments.push((id, segment));
        self.mapped += length;
        self.last_id = id;
        Ok(NewSegment { id, length, direction: Direction::Output, fd })
    }

    /// Checks a descriptor and finds its bytes. The name and shape are copied; [`OutputReader::take`] moves them.
    pub fn view(&self, tensor: &worker::Tensor) -> Result<OutputView, DescriptorError> {
        self.take(tensor.clone())
    }

    /// Checks a descriptor and finds its bytes.
    pub fn take(&self, tensor: worker::Tensor) -> Result<OutputView, DescriptorError> {
        let found = self.segments.binary_search_by_key(&tensor.segment, |(id, _)| *id);
        let Ok(index) = found else {
            return Err(descriptor::refuse(&tensor, Fault::UnknownSegment(tensor.segment)));
        };
        let segment = self.segments[index].1.clone();
        let checked = descriptor::check(&tensor, segment.len(), self.limits)?;
        Ok(OutputView {
            segment,
            offset: checked.offset,
            length: checked.length,
            datatype: checked.datatype,
            elements: checked.elements,
            slot: tensor.slot,
            name: tensor.name,
            shape: tensor.shape,
        })
    }

    /// Gives up every segment that no view holds; the worker is to be told by `RemoveSegment`.
    ///
    /// Only to be called while the worker has nothing to do and every slot was released to it: a descriptor that it
    /// sends later and that names such a segment is refused.
    #[must_use = "the worker has to be told"]
    pub fn trim(&mut self) -> Vec<u32> {
        let (free, kept): (Vec<_>, Vec<_>) =
            self.segments.drain(..).partition(|(_, segment)| segment.is_sole());
        self.segments = kept;
        self.mapped = self.segments.iter().map(|(_, segment)| segment.len()).sum();
        free.into_iter().map(|(id, _)| id).collect()
    }

    /// Bytes of all segments.
    #[must_use]
    pub const fn mapped_bytes(&self) -> u64 {
        self.mapped
    }

    /// What [`OutputReader::mapped_bytes`] never exceeds.
    #[must_use]
    pub const fn limit_bytes(&self) -> u64 {
        self.limit
    }
}

/// A tensor that a worker has answered with, where it lies. It keeps the memory, also after the worker's death.
///
/// Whether its name, type and shape are what the model may answer is not checked yet. Its bytes may change at any time.
#[derive(Clone, Debug)]
pub struct OutputView {
    /// At most [`MAX_NAME`](descriptor::MAX_NAME) bytes.
    pub name: String,
    /// The element type.
    pub datatype: DataType,
    /// At most [`MAX_RANK`](descriptor::MAX_RANK) dimensions, none negative.
    pub shape: Vec<i64>,
    /// How many elements the shape has.
    pub elements: u64,
    /// To be released to the worker when this and every other tensor of the slot is done with.
    pub slot: u64,
    segment: Segment,
    offset: u64,
    length: u64,
}

impl OutputView {
    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The bytes in place. Copy them or hand them to the network; never decide by them twice.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // Was checked against the length of this very segment.
        self.segment.bytes(self.offset, self.length).unwrap_or_default()
    }

    /// A private copy, which can be parsed.
    #[must_use]
    pub fn copy(&self) -> Vec<u8> {
        self.as_slice().to_vec()
    }

    /// The bytes in place, for the network. `guard` is dropped when the last clone or slice of them is: the place to
    /// release the slot.
    #[must_use]
    pub fn into_bytes<G: Send + 'static>(self, guard: G) -> Bytes {
        let Self { segment, offset, length, .. } = self;
        Bytes::from_owner(Held { segment, offset, length, _guard: guard })
    }
}

struct Held<G> {
    segment: Segment,
    offset: u64,
    length: u64,
    _guard: G,
}

impl<G> AsRef<[u8]> for Held<G> {
    fn as_ref(&self) -> &[u8] {
        self.segment.bytes(self.offset, self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
