//! The crash reports of the last deaths that nobody asked for.
//!
//! Kept in memory, as many as is said here: the log has them all.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use nereid_proto::admin::Crash;

/// Reports that are kept.
const KEPT_MAX: usize = 200;

/// See the module's text.
#[derive(Debug, Default)]
pub struct Crashes(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    last_id: u64,
    kept: VecDeque<Crash>,
}

impl Crashes {
    /// Keeps a report. Its id is set here, and returned.
    pub fn add(&self, crash: Crash) -> u64 {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last_id += 1;
        let id = inner.last_id;
        if inner.kept.len() == KEPT_MAX {
            inner.kept.pop_front();
        }
        inner.kept.push_back(Crash { id, ..crash });
        id
    }

    /// The newest first, those that `wanted` says, at most `limit`.
    #[must_use]
    pub fn list(&self, limit: usize, wanted: impl Fn(&Crash) -> bool) -> Vec<Crash> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.kept.iter().rev().filter(|crash| wanted(crash)).take(limit).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_come_first_and_the_oldest_go() {
        let crashes = Crashes::default();
        for number in 0..u32::try_from(KEPT_MAX).unwrap() + 3 {
            crashes.add(Crash { pid: number, ..Crash::default() });
        }
        assert_eq!(crashes.list(usize::MAX, |_| true).len(), KEPT_MAX);
        let two = crashes.list(2, |crash| crash.pid % 2 == 0);
        assert_eq!(
            two.iter().map(|crash| (crash.id, crash.pid)).collect::<Vec<_>>(),
            [(203, 202), (201, 200)]
        );
    }
}
