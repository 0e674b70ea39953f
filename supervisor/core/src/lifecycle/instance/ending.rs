//! A worker that is on its way out: the ladder it is on, why it goes, and what follows.
//!
//! Deliberately without actions: the instance performs what is due.

use crate::lifecycle::escalate::{Ladder, Rung};
use crate::lifecycle::exit::ExitCause;
use crate::time::{Duration, Instant};

/// How long a worker that has closed its sockets has to exit before it is killed.
pub(super) const EXIT_GRACE: Duration = Duration::from_millis(100);

/// What follows when the worker is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The instance was told to stop.
    Stop,
    /// The restart policy decides.
    Judge,
}

/// One worker's end.
#[derive(Debug)]
pub(super) struct Ending {
    ladder: Ladder,
    /// It may finish its work.
    polite: bool,
    /// Why it goes, if that is known better than by how it exits.
    cause: Option<ExitCause>,
    then: Then,
    /// For how long it was ready, if it was.
    uptime: Option<Duration>,
    /// It was up, and nobody was told yet that it is down.
    up: bool,
    killed_at: Option<Instant>,
}

impl Ending {
    /// It was told to finish its work and exit.
    pub(super) fn asked(now: Instant, deadline: Instant, then: Then, uptime: Option<Duration>) -> Self {
        Self::new(Ladder::asked(now, deadline), true, then, uptime)
    }

    /// It has no work to finish: TERM.
    pub(super) fn terminated(now: Instant, deadline: Instant, then: Then) -> Self {
        Self::new(Ladder::term(now, deadline), true, then, None)
    }

    /// It is to go after `grace`, and the restart policy decides what follows.
    pub(super) fn condemned(now: Instant, grace: Duration, uptime: Option<Duration>) -> Self {
        Self::new(Ladder::kill(now, grace), false, Then::Judge, uptime)
    }

    const fn new(ladder: Ladder, polite: bool, then: Then, uptime: Option<Duration>) -> Self {
        Self { ladder, polite, cause: None, then, uptime, up: uptime.is_some(), killed_at: None }
    }

    pub(super) fn because(self, cause: ExitCause) -> Self {
        Self { cause: Some(cause), ..self }
    }

    pub(super) const fn is_polite(&self) -> bool {
        self.polite
    }

    pub(super) const fn then(&self) -> Then {
        self.then
    }

    pub(super) const fn uptime(&self) -> Option<Duration> {
        self.uptime
    }

    /// Politeness is over. The first known cause stays.
    pub(super) fn condemn(&mut self, now: Instant, cause: ExitCause) {
        self.polite = false;
        self.cause.get_or_insert(cause);
        self.ladder.kill_now(now);
    }

    /// Whatever was to follow, the instance stops instead.
    pub(super) fn stop(&mut self, now: Instant, deadline: Instant) {
        self.then = Then::Stop;
        self.ladder.shorten(now, deadline);
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.ladder.next_deadline()
    }

    pub(super) fn climb(&mut self, now: Instant) -> Option<Rung> {
        let rung = self.ladder.climb(now)?;
        if rung == Rung::Kill {
            self.killed_at = Some(now);
            let polite = self.polite;
            self.cause.get_or_insert_with(|| {
                if polite {
                    ExitCause::KilledBy("it did not stop within its time".to_owned())
                } else {
                    ExitCause::ProtocolError("closed its connection without exiting".to_owned())
                }
            });
        }
        Some(rung)
    }

    /// Why it goes, once: for the announcement that it is down. `None` when it was not up, or that was announced.
    pub(super) fn take_down(&mut self) -> Option<ExitCause> {
        if !std::mem::take(&mut self.up) {
            return None;
        }
        Some(self.cause.clone().unwrap_or(ExitCause::Code(0)))
    }

    /// Why it went, given how it exited.
    pub(super) fn cause_or(&self, exited: ExitCause) -> ExitCause {
        self.cause.clone().unwrap_or(exited)
    }

    pub(super) fn since_kill(&self, now: Instant) -> Duration {
        self.killed_at.map_or(Duration::ZERO, |killed_at| now - killed_at)
    }
}
