//! How many batches a worker is given before it has answered the first.
//!
//! A worker that answers in a few microseconds spends most of its time being woken up. Given some batches ahead it does
//! not sleep between them, and neither side is woken for each. The price is paid when it dies or one batch is slow: those
//! behind it are lost or wait too. So the work that it may hold is bounded in *time*, by the slowest batch of late, and
//! a model that takes longer than that gets one batch at a time.
//!
//! Deliberately not here: where the times come from. They are the worker's own words, and all that a lie can change is
//! how many of its own batches it holds.

use crate::time::Duration;

/// The work beyond the running batch that a worker may hold.
pub const HELD_MAX: Duration = Duration::from_micros(200);
/// The batches that it may hold, however fast it is.
pub const DEPTH_MAX: u32 = 8;
/// Batches that are looked at before any is given ahead.
const WARM_UP: u32 = 16;
/// By how much the memory of a slow batch fades with each later one.
const FADE: u32 = 64;

/// The late behaviour of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    seen: u32,
    /// The slowest batch of late.
    peak: Duration,
    depth: u32,
}

impl Default for Pipeline {
    /// A worker of which nothing is known.
    fn default() -> Self {
        Self { seen: 0, peak: Duration::ZERO, depth: 1 }
    }
}

impl Pipeline {
    /// A batch took the worker that long. Gives the new depth when it has changed.
    pub fn observe(&mut self, worked: Duration) -> Option<u32> {
        self.seen = self.seen.saturating_add(1);
        self.peak = worked.max(self.peak - self.peak / FADE);
        let depth = if self.seen < WARM_UP { 1 } else { depth(self.peak) };
        (std::mem::replace(&mut self.depth, depth) != depth).then_some(depth)
    }

    /// How many batches it may hold.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        self.depth
    }
}

fn depth(peak: Duration) -> u32 {
    let ahead = HELD_MAX.as_nanos().checked_div(peak.as_nanos()).unwrap_or(u128::MAX);
    u32::try_from(ahead).unwrap_or(u32::MAX).saturating_add(1).min(DEPTH_MAX)
}

#[cfg(test)]
mod tests;
