//! A worker's log lines, sent over the control socket with their level.
//!
//! What a model prints goes to stdout or stderr, which the supervisor reads too, but without a level. Deliberately not
//! here: filtering and formats. The supervisor knows what the operator wants to see.

use crate::{identity::Identity, text::cut};
use nereid_ipc::{Channel, IpcError};
use nereid_proto::worker::{ControlToSupervisor, Log, control_to_supervisor::Message};
use std::{
    os::fd::AsFd,
    panic::Location,
    sync::{Arc, Mutex, PoisonError},
};

pub use nereid_proto::worker::log::Level;

/// Sends log lines from any thread. Clones share one lock, which is held while a line is sent and never else.
#[derive(Clone, Debug)]
pub struct Logger {
    identity: Identity,
    control: Arc<Mutex<Channel>>,
}

impl Logger {
    /// Shares the control socket by a second fd, so that logging needs nothing that the loop owns.
    pub(crate) fn new(control: &Channel, identity: Identity) -> Result<Self, IpcError> {
        let fd = control
            .as_fd()
            .try_clone_to_owned()
            .map_err(|source| IpcError::Io { call: "dup of the control socket", source })?;
        Ok(Self { identity, control: Arc::new(Mutex::new(Channel::from_fd(fd)?)) })
    }

    /// Sends one line. If the supervisor has gone, nobody would read it and nothing happens.
    #[track_caller]
    pub fn log(&self, level: Level, message: impl Into<String>) {
        let location = Location::caller();
        self.log_at(level, message, location.file(), location.line());
    }

    /// Sends one line that belongs to another place in some source, such as a model's.
    pub fn log_at(&self, level: Level, message: impl Into<String>, file: &str, line: u32) {
        let message = cut(message.into());
        let log = Log { level: level.into(), message, file: file.to_owned(), line };
        let frame =
            ControlToSupervisor { generation: self.identity.generation(), message: Some(Message::Log(log)) };
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        // A lost line is no reason to fail; the loop notices by itself when the supervisor has gone.
        let _sent = control.send(&frame, None);
    }
}

#[cfg(test)]
mod tests;
