//! Room for a request's bytes while they arrive, taken in steps.
//!
//! A client that announces much and sends nothing must not take room from others: room follows the bytes that are there.
//! The steps grow, so that a large body asks only a few times.

use nereid_core::error::ServeError;

use super::Upstream;
use crate::serve::admission::InflightBytes;

/// The least that is asked for at once.
const STEP_MIN: u64 = 64 * 1024;
/// The most that is asked for before it is needed.
const STEP_MAX: u64 = 16 * 1024 * 1024;

/// The room that the bytes of one body have so far.
#[derive(Debug, Default)]
pub(crate) struct Room {
    shares: Vec<InflightBytes>,
    reserved: u64,
}

impl Room {
    /// Refuses what would not fit if it came now. Holds nothing: this spares clients from sending it in vain.
    pub(crate) fn check<U: Upstream>(upstream: &U, length: u64) -> Result<(), ServeError> {
        upstream.reserve(length).map(drop)
    }

    /// Makes sure that `bytes` have room. `total` is how many there will be, if that is known.
    pub(crate) fn grow_to<U: Upstream>(
        &mut self,
        upstream: &U,
        bytes: u64,
        total: Option<u64>,
    ) -> Result<(), ServeError> {
        if bytes <= self.reserved {
            return Ok(());
        }
        let ahead = self.reserved + self.reserved.clamp(STEP_MIN, STEP_MAX);
        let goal = ahead.min(total.unwrap_or(u64::MAX)).max(bytes);
        self.shares.push(upstream.reserve(goal - self.reserved)?);
        self.reserved = goal;
        Ok(())
    }

    /// Room for exactly `bytes`, all of which have arrived.
    pub(crate) fn into_share<U: Upstream>(
        mut self,
        upstream: &U,
        bytes: u64,
    ) -> Result<InflightBytes, ServeError> {
        if self.shares.len() == 1
            && self.reserved == bytes
            && let Some(share) = self.shares.pop()
        {
            return Ok(share);
        }
        // What was taken covers it, and nothing but another thread comes between.
        drop(self);
        upstream.reserve(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// Gives all back.
    pub(crate) fn clear(&mut self) {
        self.shares.clear();
        self.reserved = 0;
    }
}

#[cfg(test)]
mod tests;
