//! Waiting without outliving the supervisor.
//!
//! The kernel kills a worker whose supervisor dies; this is the second line, and the one that works within a test.
//! Nothing is read from the socket here, so packets that arrive meanwhile stay where they are.

use nereid_ipc::IpcError;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use std::{
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

/// How a pause ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The time is over.
    Elapsed,
    /// The request was cancelled. Only pauses that belong to a request end so.
    Cancelled,
    /// The supervisor has gone; return from whatever it is.
    SupervisorGone,
}

/// Sees the supervisor go.
#[derive(Debug)]
pub(crate) struct Watch(OwnedFd);

impl Watch {
    pub(crate) fn new(socket: impl AsFd) -> Result<Self, IpcError> {
        let fd = socket.as_fd().try_clone_to_owned();
        fd.map(Self).map_err(|source| IpcError::Io { call: "dup of a socket", source })
    }

    pub(crate) fn pause(&self, duration: Duration) -> Pause {
        let deadline = Instant::now().checked_add(duration);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            // No events asked for: only a hang-up, which is always told, ends the wait.
            let mut polled = [PollFd::new(self.0.as_fd(), PollFlags::empty())];
            match poll(&mut polled, left.map_or(PollTimeout::NONE, timeout)) {
                Ok(0) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                    return Pause::Elapsed;
                }
                Ok(0) | Err(Errno::EINTR) => {}
                // An error of poll itself cannot be waited out either.
                Ok(_) | Err(_) => return Pause::SupervisorGone,
            }
        }
    }
}

/// Rounded up, so that the last millisecond is not spun away.
fn timeout(left: Duration) -> PollTimeout {
    PollTimeout::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
mod tests;
