//! The worker's side of the input arena: it looks up what the supervisor says is there.

use super::{error::ArenaError, segment::Segment};
use crate::{
    datatype::DataType,
    descriptor::{self, DescriptorError, Fault, Limits},
    sys::mmap::Access,
};
use nereid_proto::worker;
use std::{os::fd::OwnedFd, ptr};

/// The input segments of this process, mapped for reading and writing: a model may change its inputs in place, and
/// nobody reads that back.
#[derive(Debug, Default)]
pub struct InputTable {
    segments: Vec<(u32, Segment)>,
    limits: Limits,
}

impl InputTable {
    /// No segments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps a segment that the supervisor has sent.
    pub fn add_segment(&mut self, id: u32, fd: OwnedFd, length: u64) -> Result<(), ArenaError> {
        if self.segments.iter().any(|(known, _)| *known == id) {
            return Err(ArenaError::DuplicateSegment(id));
        }
        let segment = Segment::open(fd, length, Access::Write)?;
        self.segments.push((id, segment));
        Ok(())
    }

    /// Forgets a segment. It is unmapped when the last view of it is dropped.
    pub fn remove_segment(&mut self, id: u32) -> Result<(), ArenaError> {
        let place = self.segments.iter().position(|(known, _)| *known == id);
        self.segments.remove(place.ok_or(ArenaError::UnknownSegment(id))?);
        Ok(())
    }

    /// Checks a descriptor and finds its bytes.
    pub fn view(&self, tensor: &worker::Tensor) -> Result<InputView, DescriptorError> {
        let found = self.segments.iter().find(|(id, _)| *id == tensor.segment);
        let Some((_, segment)) = found else {
            return Err(descriptor::refuse(tensor, Fault::UnknownSegment(tensor.segment)));
        };
        let checked = descriptor::check(tensor, segment.len(), self.limits)?;
        Ok(InputView {
            segment: segment.clone(),
            id: tensor.segment,
            datatype: checked.datatype,
            elements: checked.elements,
            offset: checked.offset,
            length: checked.length,
        })
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn mapped_bytes(&self) -> u64 {
        self.segments.iter().map(|(_, segment)| segment.len()).sum()
    }
}

/// The bytes of one input tensor. It keeps the memory.
#[derive(Clone, Debug)]
pub struct InputView {
    segment: Segment,
    id: u32,
    datatype: DataType,
    elements: u64,
    offset: u64,
    length: u64,
}

impl InputView {
    /// The element type.
    #[must_use]
    pub const fn datatype(&self) -> DataType {
        self.datatype
    }

    /// How many elements the shape has.
    #[must_use]
    pub const fn elements(&self) -> u64 {
        self.elements
    }

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

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // Was checked against the length of this very segment.
        self.segment.view().slice(self.offset, self.length).unwrap_or_default()
    }

    /// Where the bytes begin, for a model that may write to them. As long as it may, nobody uses
    /// [`InputView::as_slice`] or [`InputView::joined`] of this memory, and one clone of the view is kept.
    #[must_use]
    pub fn ptr(&self) -> *mut u8 {
        let place = self.segment.view().locate(self.offset, self.length);
        place.map_or(ptr::null_mut(), |(start, _)| start.as_ptr())
    }

    /// This tensor and the following ones as one, if each begins where the one before ends.
    #[must_use]
    pub fn joined<'a>(&self, following: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut joined = self.clone();
        for next in following {
            let end = joined.offset.checked_add(joined.length)?;
            if next.id != joined.id || next.datatype != joined.datatype || next.offset != end {
                return None;
            }
            // Both lie within the segment and one after the other, so their sum does, too.
            joined.length = joined.length.checked_add(next.length)?;
            joined.elements = joined.elements.checked_add(next.elements)?;
        }
        Some(joined)
    }
}

#[cfg(test)]
mod tests;
