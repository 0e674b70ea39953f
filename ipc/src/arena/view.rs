//! Bounds-checked byte views of a mapping: the only unsafe code outside of `sys`.
//!
//! Within this process the usual rules hold. A [`View`] that this process may write to gives out no shared slice of
//! bytes that another part of the process could write; [`Exclusive`] stands for an allocated run, which nobody else
//! here touches. The peer process is outside of what the language can promise: it may change bytes at any moment.
//! For that reason nothing here or above reads a byte of shared memory twice and relies on both readings being equal,
//! and every length and offset comes from private memory.
#![expect(unsafe_code, reason = "memory that the kernel maps is reached through pointers")]

use super::{
    allocator::Run,
    error::{ArenaError, OutOfBounds},
    segment::Segment,
};
use crate::sys::mmap::{Access, Mapping};
use std::{ptr::NonNull, slice};

/// The bytes of one mapped segment.
#[derive(Debug)]
pub(super) struct View {
    map: Mapping,
}

impl View {
    pub(super) const fn new(map: Mapping) -> Self {
        Self { map }
    }

    pub(super) const fn len(&self) -> usize {
        self.map.len()
    }

    pub(super) const fn access(&self) -> Access {
        self.map.access()
    }

    /// Where `length` bytes at `offset` begin, and their number. For no bytes, any offset up to the end will do.
    pub(super) fn locate(&self, offset: u64, length: u64) -> Result<(NonNull<u8>, usize), OutOfBounds> {
        let size = self.map.len();
        let refuse = OutOfBounds { offset, length, size: size as u64 };
        let start = usize::try_from(offset).map_err(|_| refuse)?;
        let len = usize::try_from(length).map_err(|_| refuse)?;
        if start.checked_add(len).is_none_or(|end| end > size) {
            return Err(refuse);
        }
        // SAFETY: `start` is at most `size`, so the result is within the mapping or one past its end.
        let pointer = unsafe { self.map.start().add(start) };
        Ok((pointer, len))
    }

    /// Copies `target.len()` bytes out.
    pub(super) fn read(&self, offset: u64, target: &mut [u8]) -> Result<(), OutOfBounds> {
        let (pointer, len) = self.locate(offset, target.len() as u64)?;
        // SAFETY: `len` bytes are mapped there, and `target` has as many. It is a unique slice, so it lies elsewhere or
        // in an exclusive run, which `offset` does not name. If the peer writes meanwhile, the copy is a mixture.
        unsafe { pointer.copy_to_nonoverlapping(NonNull::from(target).cast(), len) };
        Ok(())
    }

    /// A copy of `length` bytes, without zeroing memory first.
    pub(super) fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>, OutOfBounds> {
        let (pointer, len) = self.locate(offset, length)?;
        let mut copy = Vec::<u8>::with_capacity(len);
        // SAFETY: `len` bytes are mapped there and reserved in fresh memory.
        unsafe { pointer.as_ptr().copy_to_nonoverlapping(copy.as_mut_ptr(), len) };
        // SAFETY: as many bytes were just written.
        unsafe { copy.set_len(len) };
        Ok(copy)
    }

    /// Copies bytes in.
    pub(super) fn write(&self, offset: u64, source: &[u8]) -> Result<(), ArenaError> {
        let (pointer, len) = self.locate(offset, source.len() as u64)?;
        if self.map.access() != Access::Write {
            return Err(ArenaError::ReadOnly);
        }
        // SAFETY: `len` bytes are mapped there for writing and `source` has as many. No slice of a writable view is
        // shared, and an exclusive run is written through its own slice only.
        unsafe { pointer.copy_from_nonoverlapping(NonNull::from(source).cast(), len) };
        Ok(())
    }

    /// The bytes in place. Callers see to it that no part of this process writes there while the slice lives.
    pub(super) fn slice(&self, offset: u64, length: u64) -> Result<&[u8], OutOfBounds> {
        let (pointer, len) = self.locate(offset, length)?;
        // SAFETY: mapped as long as `self` lives. This process does not write there, says the caller; what another
        // process writes is not seen by the compiler, and by the rule of this crate never matters.
        Ok(unsafe { slice::from_raw_parts(pointer.as_ptr(), len) })
    }
}

/// An allocated run of a writable segment, and with it the sole right of this process to its bytes.
#[derive(Debug)]
pub(super) struct Exclusive {
    id: u32,
    segment: Segment,
    run: Run,
    len: usize,
}

impl Exclusive {
    /// `run` was allocated by the one allocator of `segment`.
    pub(super) fn new(id: u32, segment: Segment, run: Run, length: u64) -> Result<Self, OutOfBounds> {
        segment.view().locate(run.offset(), run.length())?;
        let refuse = OutOfBounds { offset: run.offset(), length, size: run.length() };
        let len = usize::try_from(length).map_err(|_| refuse)?;
        if length > run.length() || segment.view().access() != Access::Write {
            return Err(refuse);
        }
        Ok(Self { id, segment, run, len })
    }

    /// The segment's number.
    pub(super) const fn id(&self) -> u32 {
        self.id
    }

    pub(super) const fn offset(&self) -> u64 {
        self.run.offset()
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Gives the right up; what remains is a run of no bytes.
    pub(super) const fn take_run(&mut self) -> Run {
        self.len = 0;
        std::mem::replace(&mut self.run, Run::EMPTY)
    }

    fn start(&self) -> NonNull<u8> {
        // `new` has made sure that it lies within the segment.
        self.segment.view().locate(self.run.offset(), 0).map_or(NonNull::dangling(), |(start, _)| start)
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes from the start are within the run, which lies within the mapping that `segment` keeps.
        // Nobody in this process writes to it, since that takes `&mut self`.
        unsafe { slice::from_raw_parts(self.start().as_ptr(), self.len) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above; the run is not copyable and its allocator gives it out once, so this slice is the only one.
        unsafe { slice::from_raw_parts_mut(self.start().as_ptr(), self.len) }
    }
}
