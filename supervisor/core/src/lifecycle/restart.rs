//! When a worker that died comes back, and when it does not.
//!
//! The first restart is immediate, since most deaths are the only one of their day; each further one waits twice as
//! long as the one before, up to a limit, and a little less by chance, so that workers which died together do not come
//! back together. A worker that dies too often within a window is given up: it would only burn processor time that its
//! neighbours need. A life that was healthy for long enough wipes the slate.
//!
//! Deliberately without a timer: whether a life was healthy is asked when it has ended.

use std::collections::VecDeque;

use super::random::SplitMix64;
use crate::time::{Duration, Instant};

/// The numbers of the restart policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Before the second restart; each later one waits twice as long.
    pub backoff_initial: Duration,
    /// No restart waits longer.
    pub backoff_max: Duration,
    /// So many deaths within `window` are too many. 0 and 1: never restart.
    pub deaths_max: u32,
    pub window: Duration,
    /// A worker that was ready for this long starts over with a clean slate.
    pub healthy_after: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            backoff_initial: Duration::from_millis(100),
            backoff_max: Duration::from_secs(10),
            deaths_max: 5,
            window: Duration::from_secs(60),
            healthy_after: Duration::from_secs(60),
        }
    }
}

/// What follows a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Start again when this time has passed.
    RestartAfter(Duration),
    /// Too many deaths: wait for an operator.
    GiveUp,
}

/// The deaths of one instance.
#[derive(Clone, Debug)]
pub struct Restarts {
    policy: RestartPolicy,
    random: SplitMix64,
    /// Those within the window, at most `deaths_max`.
    deaths: VecDeque<Instant>,
    /// Restarts since the slate was clean.
    streak: u32,
}

impl Restarts {
    /// `seed` decides the jitter.
    #[must_use]
    pub const fn new(policy: RestartPolicy, seed: u64) -> Self {
        Self { policy, random: SplitMix64::new(seed), deaths: VecDeque::new(), streak: 0 }
    }

    /// A life ended that had been ready for `uptime`, zero if it never was.
    pub fn died(&mut self, now: Instant, uptime: Duration) -> Verdict {
        if uptime >= self.policy.healthy_after {
            self.reset();
        }
        let window = self.policy.window;
        while self.deaths.front().is_some_and(|&death| now - death >= window) {
            self.deaths.pop_front();
        }
        self.deaths.push_back(now);
        if u32::try_from(self.deaths.len()).unwrap_or(u32::MAX) >= self.policy.deaths_max {
            return Verdict::GiveUp;
        }
        let delay = self.delay();
        self.streak = self.streak.saturating_add(1);
        Verdict::RestartAfter(delay)
    }

    /// Forgets all deaths.
    pub fn reset(&mut self) {
        self.deaths.clear();
        self.streak = 0;
    }

    /// Between three quarters of the full delay and all of it: growing stays visible and the limit holds.
    fn delay(&mut self) -> Duration {
        let Some(doublings) = self.streak.checked_sub(1) else {
            return Duration::ZERO;
        };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        let full = self.policy.backoff_initial.saturating_mul(factor).min(self.policy.backoff_max);
        let quarter = u64::try_from(full.as_nanos() / 4).unwrap_or(u64::MAX);
        full - Duration::from_nanos(self.random.below(quarter.saturating_add(1)))
    }
}

#[cfg(test)]
mod tests;
