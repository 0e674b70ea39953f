//! How a worker can end, as the exit code that the supervisor reads.
//!
//! All codes lie below 128, where shells and supervisors put "killed by a signal".

use std::process::ExitCode;

/// Why the worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It was told to stop and has unloaded the model.
    Stopped,
    /// The supervisor closed a socket. Nobody is left who could be told anything.
    SupervisorGone,
    /// The sockets or the generation are missing: started by hand.
    NotStartedBySupervisor,
    /// The supervisor speaks no version of the protocol that this worker knows.
    NoCommonProtocol,
    /// The supervisor sent what does not belong to this protocol, or to this incarnation.
    BrokenProtocol,
    /// A system call failed for a reason of this machine's.
    SystemFailure,
    /// The backend, or the harness, panicked.
    Panicked,
}

impl Exit {
    /// The process's exit code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Stopped | Self::SupervisorGone => 0,
            Self::NotStartedBySupervisor => 2,
            Self::NoCommonProtocol => 3,
            Self::BrokenProtocol => 4,
            Self::SystemFailure => 5,
            // As any other Rust program.
            Self::Panicked => 101,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
