//! Wakes a model's task at the scheduler's deadline, to the microsecond.
//!
//! The runtime's timer counts in milliseconds: good for time-outs, too coarse for a batcher that holds a request back for
//! a hundred microseconds. Near deadlines go to a timer of the kernel's.

use std::pin::Pin;
use std::task::{Context, Poll};

use nereid_core::time::{Duration, Instant};
use nereid_ipc::sys::timer::Timer;
use tokio::time::Sleep;

use crate::clock;

/// A deadline that is nearer than this is given to the kernel: two system calls, for a wait that is exact.
const NEAR: Duration = Duration::from_millis(5);

/// See the module's text.
#[derive(Debug)]
pub(super) struct Alarm {
    deadline: Option<Instant>,
    coarse: Pin<Box<Sleep>>,
    /// Made at the first near deadline.
    fine: Option<Timer>,
    near: bool,
}

impl Alarm {
    /// An alarm that is not set.
    pub(super) fn new() -> Self {
        Self { deadline: None, coarse: Box::pin(tokio::time::sleep(Duration::ZERO)), fine: None, near: false }
    }

    /// Sets it to another deadline, or to none.
    pub(super) fn set(&mut self, deadline: Option<Instant>) {
        if deadline == self.deadline {
            return;
        }
        self.deadline = deadline;
        let Some(deadline) = deadline else { return };
        let wait = deadline - clock::now();
        self.near = wait < NEAR && self.set_fine(wait);
        if !self.near {
            self.coarse.as_mut().reset(clock::to_std(deadline).into());
        }
    }

    /// Whether there is such a timer: without one more file descriptor, the coarse one has to do.
    fn set_fine(&mut self, wait: Duration) -> bool {
        if self.fine.is_none() {
            self.fine = Timer::new().ok();
        }
        self.fine.as_ref().is_some_and(|timer| timer.set(wait).is_ok())
    }

    /// Ready when the deadline has come, once.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.deadline.is_none() {
            return Poll::Pending;
        }
        let expired = match &self.fine {
            Some(timer) if self.near => timer.poll_expired(cx).map(drop),
            _ => self.coarse.as_mut().poll(cx),
        };
        if expired.is_ready() {
            self.deadline = None;
        }
        expired
    }
}
