//! The supervisor's side of the input arena: it allocates, writes and takes back.

use super::{
    error::{ArenaError, OutOfBounds},
    layout::next_segment,
    pool::Pool,
    segment::{NewSegment, Segment},
    view::Exclusive,
};
use crate::sys::mmap::Access;
use nereid_proto::worker::add_segment::Direction;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The input arena of one incarnation. Clones are the same arena.
#[derive(Clone, Debug)]
pub struct InputArena {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    limit: u64,
}

#[derive(Debug, Default)]
struct State {
    pool: Pool,
    last_id: u32,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InputArena {
    /// An arena without segments, which may come to have `limit_bytes` in all.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Self { shared: Arc::new(Shared { state: Mutex::default(), limit: limit_bytes }) }
    }

    /// A run of `length` bytes, aligned to [`ALIGNMENT`](super::ALIGNMENT), with whatever was there before.
    ///
    /// If a segment was made for it, that has to be announced to the worker before anything in it is named, also by
    /// other leases. One task leases and sends, so that the order is kept. At the limit, [`InputArena::trim`] may help.
    pub fn lease(&self, length: u64) -> Result<(Lease, Option<NewSegment>), ArenaError> {
        let mut state = self.shared.lock();
        if let Some(run) = state.pool.allocate(length) {
            return Ok((self.lend(run), None));
        }
        let new = self.grow(&mut state, length)?;
        let mapped = state.pool.mapped();
        let limit = self.shared.limit;
        let refuse = || ArenaError::LimitReached { needed: length, mapped, limit };
        let run = state.pool.allocate(length).ok_or_else(refuse)?;
        Ok((self.lend(run), Some(new)))
    }

    fn lend(&self, run: Exclusive) -> Lease {
        Lease { shared: Arc::clone(&self.shared), run }
    }

    fn grow(&self, state: &mut State, needed: u64) -> Result<NewSegment, ArenaError> {
        let (last, mapped, limit) = (state.pool.last_length(), state.pool.mapped(), self.shared.limit);
        let length = next_segment(needed, last, mapped, limit).ok_or(ArenaError::LimitReached {
            needed,
            mapped,
            limit,
        })?;
        let id = state.last_id.checked_add(1).ok_or(ArenaError::SegmentNumbers)?;
        let (segment, fd) = Segment::create(length, Access::Write)?;
        state.pool.add(id, segment)?;
        state.last_id = id;
        Ok(NewSegment { id, length, direction: Direction::Input, fd })
    }

    /// Bytes that leases hold, rounded up to the alignment.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.shared.lock().pool.used()
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn mapped_bytes(&self) -> u64 {
        self.shared.lock().pool.mapped()
    }

    /// What [`InputArena::mapped_bytes`] never exceeds.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.shared.limit
    }

    /// Gives up every segment without a lease; the worker is to be told by `RemoveSegment`.
    #[must_use = "the worker has to be told"]
    pub fn trim(&self) -> Vec<u32> {
        self.shared.lock().pool.trim()
    }
}

/// A run in a segment, exclusively the holder's until it is dropped. The drop may happen in any thread.
#[derive(Debug)]
pub struct Lease {
    shared: Arc<Shared>,
    run: Exclusive,
}

impl Lease {
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

    /// Copies bytes to `offset`, counted from the lease's begin.
    pub fn write_at(&mut self, offset: usize, bytes: &[u8]) -> Result<(), OutOfBounds> {
        let size = self.run.len();
        let end = offset.checked_add(bytes.len());
        let target = end.and_then(|end| self.run.as_mut_slice().get_mut(offset..end));
        let refuse = || OutOfBounds { offset: offset as u64, length: bytes.len() as u64, size: size as u64 };
        target.ok_or_else(refuse)?.copy_from_slice(bytes);
        Ok(())
    }

    /// The bytes, to be written. The worker can see and change them.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.run.as_mut_slice()
    }

    /// The bytes. The worker can change them.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.run.as_slice()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let run = self.run.take_run();
        self.shared.lock().pool.free(self.run.id(), run);
    }
}

#[cfg(test)]
mod tests;
