//! Why a session is over, from the inside: with the sentence that the crash report will show.

use crate::exit::Exit;
use nereid_ipc::{IpcError, Malformed};

/// The reason for leaving the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Told to stop, and done.
    Stopped,
    /// A socket was closed.
    SupervisorGone,
    /// No version of the protocol in common; the reply has said so.
    NoCommonProtocol,
    /// The supervisor broke the protocol.
    Broken(String),
    /// The machine failed.
    System(String),
    /// The backend or the harness panicked.
    Panicked(String),
}

impl End {
    pub(crate) fn broken(what: impl Into<String>) -> Self {
        Self::Broken(what.into())
    }

    /// What the supervisor is told, if there is anything to tell and anyone to hear it.
    pub(crate) fn last_words(&self) -> Option<String> {
        match self {
            Self::Stopped | Self::SupervisorGone | Self::NoCommonProtocol => None,
            Self::Broken(what) => Some(format!("the supervisor broke the protocol: {what}")),
            Self::System(what) | Self::Panicked(what) => Some(what.clone()),
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Stopped => Exit::Stopped,
            Self::SupervisorGone => Exit::SupervisorGone,
            Self::NoCommonProtocol => Exit::NoCommonProtocol,
            Self::Broken(_) => Exit::BrokenProtocol,
            Self::System(_) => Exit::SystemFailure,
            Self::Panicked(_) => Exit::Panicked,
        }
    }
}

impl From<IpcError> for End {
    fn from(error: IpcError) -> Self {
        match error {
            IpcError::Closed => Self::SupervisorGone,
            IpcError::Malformed(malformed) => malformed.into(),
            other => Self::System(format!("the socket to the supervisor failed: {other}")),
        }
    }
}

impl From<Malformed> for End {
    fn from(malformed: Malformed) -> Self {
        Self::Broken(format!("malformed packet: {malformed}"))
    }
}
