//! Virtual time: what will happen, in order. Nothing waits; the world jumps to the next event.

use std::collections::BTreeMap;

use nereid_core::time::{Duration, Instant};

/// Things that will happen, by time and, at the same time, in the order in which they were planned.
#[derive(Debug)]
pub(crate) struct Timeline<T> {
    now: Instant,
    planned: BTreeMap<(Instant, u64), T>,
    count: u64,
}

impl<T> Timeline<T> {
    pub(crate) fn new() -> Self {
        Self { now: Instant::from_nanos(0), planned: BTreeMap::new(), count: 0 }
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn plan(&mut self, after: Duration, thing: T) {
        self.count += 1;
        self.planned.insert((self.now + after, self.count), thing);
    }

    /// When the next thing happens.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.planned.keys().next().map(|&(at, _)| at)
    }

    /// Goes to the next thing.
    pub(crate) fn take(&mut self) -> Option<T> {
        let ((at, _), thing) = self.planned.pop_first()?;
        self.now = self.now.max(at);
        Some(thing)
    }

    /// Goes to a time at which nothing is planned.
    pub(crate) fn jump(&mut self, to: Instant) {
        self.now = self.now.max(to);
    }
}
