//! Segments with their allocators: what the allocating side of either arena keeps behind its lock.

use super::{
    allocator::{Allocator, Run},
    error::ArenaError,
    segment::Segment,
    view::Exclusive,
};

/// The segments of one arena, by ascending age.
#[derive(Debug, Default)]
pub(super) struct Pool {
    entries: Vec<Entry>,
    mapped: u64,
}

#[derive(Debug)]
struct Entry {
    id: u32,
    segment: Segment,
    allocator: Allocator,
    /// Nothing is allocated from it any more; it goes when its last run returns.
    retired: bool,
}

impl Pool {
    pub(super) fn add(&mut self, id: u32, segment: Segment) -> Result<(), ArenaError> {
        if self.entries.iter().any(|entry| entry.id == id) {
            return Err(ArenaError::DuplicateSegment(id));
        }
        self.mapped = self.mapped.saturating_add(segment.len());
        let allocator = Allocator::new(segment.len());
        self.entries.push(Entry { id, segment, allocator, retired: false });
        Ok(())
    }

    /// A run in the oldest segment that has room, so that the younger, larger ones can become empty.
    pub(super) fn allocate(&mut self, length: u64) -> Option<Exclusive> {
        self.entries.iter_mut().filter(|entry| !entry.retired).find_map(|entry| {
            let run = entry.allocator.allocate(length)?;
            Exclusive::new(entry.id, entry.segment.clone(), run, length).ok()
        })
    }

    /// Takes back what [`Pool::allocate`] gave.
    pub(super) fn free(&mut self, id: u32, run: Run) {
        let Some(index) = self.entries.iter().position(|entry| entry.id == id) else {
            debug_assert!(run.length() == 0, "a run of segment {id}, which is not there");
            return;
        };
        let entry = &mut self.entries[index];
        let freed = entry.allocator.free(run);
        debug_assert_eq!(freed, Ok(()), "a run of segment {id} came back that was not out");
        if entry.retired && entry.allocator.used() == 0 {
            self.drop_entry(index);
        }
    }

    /// Allocates no more from a segment. Says whether it was there.
    pub(super) fn retire(&mut self, id: u32) -> bool {
        let Some(index) = self.entries.iter().position(|entry| entry.id == id && !entry.retired) else {
            return false;
        };
        self.entries[index].retired = true;
        if self.entries[index].allocator.used() == 0 {
            self.drop_entry(index);
        }
        true
    }

    /// Drops the segments in which nothing is allocated.
    pub(super) fn trim(&mut self) -> Vec<u32> {
        let mut trimmed = Vec::new();
        while let Some(index) = self.entries.iter().position(|entry| entry.allocator.used() == 0) {
            trimmed.push(self.drop_entry(index));
        }
        trimmed
    }

    fn drop_entry(&mut self, index: usize) -> u32 {
        let entry = self.entries.remove(index);
        self.mapped = self.mapped.saturating_sub(entry.segment.len());
        entry.id
    }

    /// The size of the youngest segment.
    pub(super) fn last_length(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.segment.len())
    }

    /// Bytes of all segments.
    pub(super) const fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Bytes that are allocated.
    pub(super) fn used(&self) -> u64 {
        self.entries.iter().map(|entry| entry.allocator.used()).sum()
    }
}
