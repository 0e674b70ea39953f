//! The ladder by which a process is made to end: ask, SIGTERM, SIGKILL, and in the end no longer waiting for it.
//!
//! ```text
//!  now                                  deadline−3 s   deadline−1 s   deadline
//!   │ ask: finish and exit                    │ TERM         │ KILL        │ give up
//!   └─────────────────────────────────────────┴──────────────┴─────────────┘
//! ```
//!
//! All rungs lie under one deadline that is armed once, so that a chain of patience never adds up. When time is short the
//! last two intervals shrink: half of the span is for asking, an eighth for the kernel to clean up.
//!
//! Deliberately not here: the signals, and what the end means.

use crate::time::{Duration, Instant};

/// How long before the deadline TERM is sent, at most.
pub const TERM_BEFORE_MAX: Duration = Duration::from_secs(3);
/// How long before the deadline KILL is sent, at most.
pub const KILL_BEFORE_MAX: Duration = Duration::from_secs(1);
/// How long the kernel gets to clean up after a KILL, whatever the deadline was.
pub const REAP_MIN: Duration = Duration::from_millis(250);
/// How long it gets when there is no deadline: a process with much memory, or with a device, takes seconds to go.
pub const REAP_MAX: Duration = Duration::from_secs(10);

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
    /// It cannot be killed (it hangs inside the kernel): wait no longer.
    GiveUp,
}

/// Where on the ladder one process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder {
    term_at: Option<Instant>,
    kill_at: Option<Instant>,
    give_up_at: Option<Instant>,
}

impl Ladder {
    /// It was asked to end just now and has until `deadline`.
    #[must_use]
    pub fn asked(now: Instant, deadline: Instant) -> Self {
        let span = deadline - now;
        Self {
            term_at: Some(now + (span - TERM_BEFORE_MAX.min(span / 2))),
            kill_at: Some(now + (span - KILL_BEFORE_MAX.min(span / 8))),
            give_up_at: Some(deadline),
        }
    }

    /// Asking is pointless (it would not listen): TERM now.
    #[must_use]
    pub fn term(now: Instant, deadline: Instant) -> Self {
        Self { term_at: Some(now), ..Self::asked(now, deadline) }
    }

    /// KILL after `grace`, without a TERM before.
    #[must_use]
    pub fn kill(now: Instant, grace: Duration) -> Self {
        let kill_at = now + grace;
        Self { term_at: None, kill_at: Some(kill_at), give_up_at: Some(kill_at + REAP_MAX) }
    }

    /// Brings the deadline forward. A later one changes nothing.
    pub fn shorten(&mut self, now: Instant, deadline: Instant) {
        let sooner = Self::asked(now, deadline);
        let earlier = |own: Option<Instant>, other: Option<Instant>| Some(own?.min(other?));
        self.term_at = earlier(self.term_at, sooner.term_at);
        self.kill_at = earlier(self.kill_at, sooner.kill_at);
        self.give_up_at = earlier(self.give_up_at, Some(deadline.max(now + REAP_MIN)));
    }

    /// KILL is due now; the deadline stays.
    pub fn kill_now(&mut self, now: Instant) {
        self.term_at = None;
        self.kill_at = self.kill_at.map(|at| at.min(now));
    }

    /// When the next rung is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.term_at.or(self.kill_at).or(self.give_up_at)
    }

    /// The rung that is due now, once. A TERM that a KILL has overtaken is left out; after a KILL there is always time
    /// to see the process go.
    pub fn climb(&mut self, now: Instant) -> Option<Rung> {
        if self.kill_at.is_some_and(|at| at <= now) {
            self.term_at = None;
            self.kill_at = None;
            self.give_up_at = self.give_up_at.map(|at| at.max(now + REAP_MIN));
            return Some(Rung::Kill);
        }
        if self.term_at.is_some_and(|at| at <= now) {
            self.term_at = None;
            return Some(Rung::Term);
        }
        if self.kill_at.is_none() && self.give_up_at.is_some_and(|at| at <= now) {
            self.give_up_at = None;
            return Some(Rung::GiveUp);
        }
        None
    }
}

#[cfg(test)]
mod tests;
