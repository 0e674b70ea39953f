//! How often something may happen within a second. Counts in windows of that length, so that up to twice as much can pass
//! around the turn of one: a bound, not a shaper.

use std::time::Duration;

use nereid_core::time::Instant;

const WINDOW: Duration = Duration::from_secs(1);

/// Counts what happens against a limit.
#[derive(Debug)]
pub struct Rate {
    limit: u32,
    count: u32,
    since: Instant,
}

impl Rate {
    /// At most `limit` in a second.
    #[must_use]
    pub fn per_second(limit: u32) -> Self {
        Self { limit, count: 0, since: Instant::default() }
    }

    /// Counts one more. Whether it is within the limit.
    pub fn allows(&mut self, now: Instant) -> bool {
        if self.count == 0 || now - self.since >= WINDOW {
            self.since = now;
            self.count = 0;
        }
        if self.count == self.limit {
            return false;
        }
        self.count += 1;
        true
    }

    /// Whether one more would be refused until [`Self::turns_at`].
    #[must_use]
    pub const fn is_used_up(&self) -> bool {
        self.count == self.limit
    }

    /// When counting begins anew.
    #[must_use]
    pub fn turns_at(&self) -> Instant {
        self.since + WINDOW
    }
}

#[cfg(test)]
mod tests;
