//! What everybody else may see of an instance: its state, its process, how its last life ended.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A copy of the figures.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// The core's word for it.
    pub state: &'static str,
    /// Counts the lives from 1; 0 before the first.
    pub generation: u64,
    /// 0 while no process lives.
    pub pid: u32,
    pub born: Option<Instant>,
    pub restarts: u64,
    /// How the last life ended, in words.
    pub last_exit: String,
}

/// Written by the instance's task, read by metrics and operators.
#[derive(Debug, Default)]
pub struct StatusCell(Mutex<Status>);

impl StatusCell {
    /// A copy.
    #[must_use]
    pub fn get(&self) -> Status {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
