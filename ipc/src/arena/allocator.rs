//! Which runs of a segment are free; pure. First fit, so that a small load stays on the same warm pages.
//!
//! A [`Run`] stands for the right to use its bytes. It cannot be copied, so it is given back at most once.

use super::layout::align_up;

/// Bytes that were allocated. Both numbers are multiples of the alignment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    offset: u64,
    length: u64,
}

impl Run {
    /// No bytes at all.
    pub(super) const EMPTY: Self = Self { offset: 0, length: 0 };

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    const fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// A run that this allocator did not hand out, or that is free already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAllocated;

/// The free runs of one segment: ascending, never empty, never adjacent.
#[derive(Debug)]
pub(super) struct Allocator {
    free: Vec<Run>,
    capacity: u64,
    used: u64,
}

impl Allocator {
    pub(super) fn new(capacity: u64) -> Self {
        let capacity = capacity / super::ALIGNMENT * super::ALIGNMENT;
        let free = if capacity == 0 { Vec::new() } else { vec![Run { offset: 0, length: capacity }] };
        Self { free, capacity, used: 0 }
    }

    /// A run of at least `length` bytes, rounded up to the alignment; at least one unit of it.
    pub(super) fn allocate(&mut self, length: u64) -> Option<Run> {
        let length = align_up(length.max(1))?;
        let (index, from) = self.free.iter_mut().enumerate().find(|(_, run)| run.length >= length)?;
        let run = Run { offset: from.offset, length };
        if from.length == length {
            self.free.remove(index);
        } else {
            from.offset += length;
            from.length -= length;
        }
        self.used += length;
        Some(run)
    }

    /// Takes a run back.
    pub(super) fn free(&mut self, run: Run) -> Result<(), NotAllocated> {
        if run.length == 0 {
            return Ok(());
        }
        let place = self.free.partition_point(|free| free.offset < run.offset);
        let before = place.checked_sub(1).and_then(|index| self.free.get(index)).map_or(0, Run::end);
        let after = self.free.get(place).map_or(self.capacity, |free| free.offset);
        if run.offset < before || run.end() > after {
            return Err(NotAllocated);
        }
        self.used -= run.length;
        let joins_before = place > 0 && before == run.offset;
        let joins_after = place < self.free.len() && after == run.end();
        match (joins_before, joins_after) {
            (true, true) => {
                let next = self.free.remove(place);
                self.free[place - 1].length += run.length + next.length;
            }
            (true, false) => self.free[place - 1].length += run.length,
            (false, true) => {
                self.free[place].offset = run.offset;
                self.free[place].length += run.length;
            }
            (false, false) => self.free.insert(place, run),
        }
        Ok(())
    }

    /// Bytes in runs that are out.
    pub(super) const fn used(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests;
