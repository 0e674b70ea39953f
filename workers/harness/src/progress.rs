//! Where the working loop is: what a pong and a heartbeat tell.
//!
//! The loop writes and others only read, so a stage is one store. A pong proves progress of the loop, since the loop
//! itself sends it; what a heartbeat tells is no such proof, but says what the loop was doing when it stopped answering.

use nereid_proto::worker::{Heartbeat, Pong, heartbeat::Stage};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// The low bits of [`Shared::stage`] hold the stage, the others the milliseconds at which it began.
const STAGE_BITS: u32 = 8;

/// Batches begun and ended since the start, and the stage of the loop. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Progress(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    epoch: Instant,
    begun: AtomicU64,
    ended: AtomicU64,
    /// Both in one word, so that a reader never sees the age of another stage.
    stage: AtomicU64,
}

impl Default for Progress {
    fn default() -> Self {
        let stage = AtomicU64::new(Stage::Starting as u64);
        Self(Arc::new(Shared {
            epoch: Instant::now(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            stage,
        }))
    }
}

impl Progress {
    /// A batch has begun; its inputs are looked at first.
    pub(crate) fn begin(&self, now: Instant) {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        self.enter_at(Stage::Input, now);
    }

    /// A batch has ended.
    pub(crate) fn end(&self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
        self.enter(Stage::Idle);
    }

    pub(crate) fn enter(&self, stage: Stage) {
        self.enter_at(stage, Instant::now());
    }

    pub(crate) fn enter_at(&self, stage: Stage, now: Instant) {
        let stage = u64::from((stage as i32).unsigned_abs());
        self.0.stage.store(self.age_ms(now) << STAGE_BITS | stage, Ordering::Relaxed);
    }

    fn age_ms(&self, now: Instant) -> u64 {
        let age = now.saturating_duration_since(self.0.epoch).as_millis();
        u64::try_from(age).unwrap_or(u64::MAX)
    }

    pub(crate) fn pong(&self, nonce: u64) -> Pong {
        Pong {
            nonce,
            batches_begun: self.0.begun.load(Ordering::Relaxed),
            batches_ended: self.0.ended.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn heartbeat(&self) -> Heartbeat {
        let packed = self.0.stage.load(Ordering::Relaxed);
        let stage = i32::from(packed.to_le_bytes()[0]);
        Heartbeat {
            stage,
            batches_begun: self.0.begun.load(Ordering::Relaxed),
            batches_ended: self.0.ended.load(Ordering::Relaxed),
            stage_age_ms: self.age_ms(Instant::now()).saturating_sub(packed >> STAGE_BITS),
        }
    }
}
