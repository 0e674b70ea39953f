//! How a worker's life ended, and the words for it.
//!
//! The words are fragments that follow the name of a worker: "exited with code 3". Deliberately not here: how it was
//! found out.

use std::fmt;

use crate::time::Duration;

/// Why a worker is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// It ended by itself.
    Code(i32),
    /// A signal ended it that the supervisor did not send.
    Signal(i32),
    /// The kernel ended it for the memory it used.
    OutOfMemory,
    /// It used more memory than it may: who ended it, and the limit.
    MemoryLimit(String),
    /// The supervisor ended it, for this reason.
    KilledBy(String),
    /// It was alive and got nowhere, so the supervisor ended it: "did not answer for 10 s".
    Hung(String),
    /// An operator had it killed.
    Operator,
    /// It said something that it must not say, or stopped talking.
    ProtocolError(String),
    /// It said nothing within this time of its start.
    HandshakeTimeout(Duration),
    /// It had not loaded the model within this time.
    LoadTimeout(Duration),
    /// It said itself that it cannot load the model.
    LoadFailed(String),
    /// There was no process in the first place.
    NotStarted(String),
    /// It was still there this long after SIGKILL, and nobody waits for it any longer.
    Undead(Duration),
}

impl fmt::Display for ExitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "was killed by signal {number} ({name})"),
                None => write!(f, "was killed by signal {number}"),
            },
            Self::OutOfMemory => f.write_str("was killed by the kernel because its memory ran out"),
            Self::KilledBy(reason) => write!(f, "was killed by the supervisor: {reason}"),
            Self::Hung(how) | Self::MemoryLimit(how) => write!(f, "{how}"),
            Self::Operator => f.write_str("was killed on an operator's request"),
            Self::ProtocolError(what) => write!(f, "was killed by the supervisor because it {what}"),
            Self::HandshakeTimeout(limit) => write!(f, "did not report within {limit:?} of its start"),
            Self::LoadTimeout(limit) => write!(f, "did not load the model within {limit:?}"),
            Self::LoadFailed(reason) => write!(f, "failed to load the model: {reason}"),
            Self::NotStarted(error) => write!(f, "could not be started: {error}"),
            Self::Undead(waited) => write!(f, "still exists {waited:?} after SIGKILL"),
        }
    }
}

impl ExitCause {
    /// The word by which deaths are counted and filtered.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Code(_) => "exit",
            Self::Signal(_) => "signal",
            Self::OutOfMemory | Self::MemoryLimit(_) => "memory",
            Self::Hung(_) | Self::Undead(_) => "hang",
            Self::KilledBy(_) | Self::ProtocolError(_) => "protocol",
            Self::Operator => "operator",
            Self::LoadFailed(_) | Self::LoadTimeout(_) => "load",
            Self::HandshakeTimeout(_) | Self::NotStarted(_) => "start",
        }
    }

    /// Why the load failed that this end has cut short. What the model's own code said is passed on as it is.
    #[must_use]
    pub fn as_load_failure(&self) -> String {
        match self {
            Self::LoadFailed(reason) => reason.clone(),
            Self::Code(_)
            | Self::Signal(_)
            | Self::OutOfMemory
            | Self::MemoryLimit(_)
            | Self::KilledBy(_)
            | Self::Hung(_)
            | Self::Operator
            | Self::ProtocolError(_) => {
                format!("worker {self} while loading the model")
            }
            Self::HandshakeTimeout(_) | Self::LoadTimeout(_) | Self::NotStarted(_) | Self::Undead(_) => {
                format!("worker {self}")
            }
        }
    }
}

/// The name of a signal that ends processes, by its Linux number.
#[must_use]
pub const fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        16 => "SIGSTKFLT",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        26 => "SIGVTALRM",
        27 => "SIGPROF",
        29 => "SIGIO",
        30 => "SIGPWR",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
