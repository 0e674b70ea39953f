//! Which incarnation this worker is: known from its start, or told by the first Hello that names one.
//!
//! A worker that was started before it was known what for has no number yet. It answers a Hello without one, so that its
//! supervisor knows it to be ready, and waits; the Hello that names a generation makes it that generation's for good.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// What stands for "not known yet"; generations are counted from 1.
const UNKNOWN: u64 = 0;

/// The generation. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Identity(Arc<AtomicU64>);

impl Identity {
    pub(crate) fn new(generation: u64) -> Self {
        Self(Arc::new(AtomicU64::new(generation)))
    }

    /// As it is on the wire.
    pub(crate) fn generation(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn is_known(&self) -> bool {
        self.generation() != UNKNOWN
    }

    /// Takes on the number of a frame, if it has none of its own.
    pub(crate) fn learn(&self, generation: u64) {
        // One thread receives, so nothing comes between.
        if !self.is_known() {
            self.0.store(generation, Ordering::Relaxed);
        }
    }
}
