//! What can go wrong on a channel.
//!
//! Only [`IpcError::Full`] leaves the channel as it was; after any other error the caller gives the peer up.

use crate::packet::{MAX_FRAME, MAX_PACKET};
use std::io;

/// An error of a [`Channel`](crate::Channel) or `AsyncChannel`.
#[derive(Debug, thiserror::Error)]
pub enum IpcError {
    /// End of file, or a reset: the peer has gone.
    #[error("the other side closed the socket")]
    Closed,
    /// The peer does not read, and the socket's buffer holds no more. Nothing was sent.
    #[error("the other side does not read and the socket is full")]
    Full,
    /// The peer sent something that is not a packet of this protocol.
    #[error("malformed packet: {0}")]
    Malformed(#[from] Malformed),
    /// The message to send is larger than the receiver would take. Nothing was sent.
    #[error("a message of {length} bytes is over the limit of {limit} bytes; send less at once")]
    TooLarge {
        /// Its encoded length.
        length: usize,
        /// What this direction may carry.
        limit: usize,
    },
    /// A system call failed for a reason that is not the peer's.
    #[error("{call}: {source}")]
    Io {
        /// The call, for people.
        call: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl IpcError {
    pub(crate) fn io(call: &'static str, source: impl Into<io::Error>) -> Self {
        Self::Io { call, source: source.into() }
    }
}

/// In which way a packet is not one of this protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("longer than {MAX_PACKET} bytes")]
    Oversize,
    #[error("no bytes")]
    Empty,
    #[error("kind {0}; known are 0 and 1")]
    Kind(u8),
    #[error("not the expected message: {0}")]
    Decode(#[from] prost::DecodeError),
    #[error("carries more than one fd, or one for which this process has no number free")]
    ExtraFds,
    #[error("carries something other than fds")]
    Control,
    #[error("a spilled header of {0} bytes; it has 9")]
    SpillHeader(usize),
    #[error("spilled without the fd that holds the message")]
    SpillWithoutFd,
    #[error("spilled with {length} bytes; the limit here is {limit} (at most {MAX_FRAME})")]
    SpillLimit { length: u64, limit: usize },
    #[error("spilled to something that is not a memfd sealed against writing and shrinking")]
    SpillSeals,
    #[error("spilled with {told} bytes told, but {actual} there")]
    SpillLength { told: u64, actual: u64 },
    #[error("belongs to generation {got}; this is generation {expected}")]
    Generation { expected: u64, got: u64 },
}
