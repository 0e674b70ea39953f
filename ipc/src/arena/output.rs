//! The worker's side of the output arena: it allocates and writes; the supervisor says when it is done with a slot.

use super::{
    allocator::Run,
    error::{ArenaError, Short},
    pool::Pool,
    segment::Segment,
    view::Exclusive,
};
use crate::sys::mmap::Access;
use std::{
    collections::HashMap,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The output arena of this process. Clones are the same arena.
#[derive(Clone, Debug, Default)]
pub struct OutputArena {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pool: Pool,
    last_slot: u64,
    /// What the supervisor has been told of and has not given back.
    lent: HashMap<u64, (u32, Run)>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputArena {
    /// An arena without segments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps a segment that the supervisor has sent.
    pub fn add_segment(&self, id: u32, fd: OwnedFd, length: u64) -> Result<(), ArenaError> {
        let segment = Segment::open(fd, length, Access::Write)?;
        self.shared.lock().pool.add(id, segment)
    }

    /// Allocates no more from a segment; it is unmapped when all its slots have returned.
    pub fn remove_segment(&self, id: u32) -> Result<(), ArenaError> {
        if self.shared.lock().pool.retire(id) { Ok(()) } else { Err(ArenaError::UnknownSegment(id)) }
    }

    /// A run of `length` bytes, aligned to [`ALIGNMENT`](super::ALIGNMENT), with whatever was there before.
    pub fn lease(&self, length: u64) -> Result<OutputLease, Short> {
        let mut state = self.shared.lock();
        let run = state.pool.allocate(length).ok_or(Short { length })?;
        state.last_slot += 1;
        Ok(OutputLease { shared: Arc::clone(&self.shared), slot: state.last_slot, run })
    }

    /// Takes back a slot that the supervisor has finished with.
    pub fn release(&self, slot: u64) -> Result<(), ArenaError> {
        let mut state = self.shared.lock();
        let (id, run) = state.lent.remove(&slot).ok_or(ArenaError::UnknownSlot(slot))?;
        state.pool.free(id, run);
        Ok(())
    }

    /// Bytes that are leased or with the supervisor, rounded up to the alignment.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.shared.lock().pool.used()
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn mapped_bytes(&self) -> u64 {
        self.shared.lock().pool.mapped()
    }

    /// Slots that are with the supervisor.
    #[must_use]
    pub fn lent_slots(&self) -> usize {
        self.shared.lock().lent.len()
    }
}

/// A run in an output segment, this process's own until it is committed. Dropped before that, it returns at once.
#[derive(Debug)]
pub struct OutputLease {
    shared: Arc<Shared>,
    slot: u64,
    run: Exclusive,
}

impl OutputLease {
    /// The name of the allocation, never used again in this process.
    #[must_use]
    pub const fn slot(&self) -> u64 {
        self.slot
    }

    /// The segment's number.
    #[must_use]
    pub const fn segment(&self) -> u32 {
        self.run.id()
    }

    /// Where it begins in its segment.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.run.offset()
    }

    /// Its bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.run.len()
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.run.len() == 0
    }

    /// The bytes, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.run.as_mut_slice()
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.run.as_slice()
    }

    /// Hands the bytes to the supervisor, until it releases the slot. To be done before the descriptor is sent, since
    /// the answer may come at once; nobody here writes to them from then on.
    pub fn commit(mut self) -> u64 {
        let run = self.run.take_run();
        let segment = self.run.id();
        self.shared.lock().lent.insert(self.slot, (segment, run));
        self.slot
    }
}

impl Drop for OutputLease {
    fn drop(&mut self) {
        let run = self.run.take_run();
        // Nothing is left of a committed one.
        if run.length() > 0 {
            self.shared.lock().pool.free(self.run.id(), run);
        }
    }
}

#[cfg(test)]
mod tests;
