//! The worker's half: calls wait.

use super::{
    Received,
    frame::{Decoder, Encoder, send_error},
};
use crate::{
    error::IpcError,
    packet::{MAX_FRAME, MAX_FRAME_FROM_WORKER},
    sys::{
        fds,
        socket::{self, Wait},
    },
};
use prost::Message;
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

/// One end of a packet socket, for a thread that may wait.
///
/// It takes messages of up to [`MAX_FRAME`] and sends up to [`MAX_FRAME_FROM_WORKER`].
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    encoder: Encoder,
    decoder: Decoder,
}

impl Channel {
    /// Two ends that are connected with each other.
    pub fn pair() -> Result<(Self, Self), IpcError> {
        let (a, b) = socket::pair().map_err(|error| IpcError::io("socketpair", error))?;
        Ok((Self::over(a), Self::over(b)))
    }

    /// An end that comes from elsewhere.
    pub fn from_fd(fd: OwnedFd) -> Result<Self, IpcError> {
        if socket::is_packet_socket(fd.as_fd()) {
            Ok(Self::over(fd))
        } else {
            Err(IpcError::io("channel", io::Error::other("the fd is not a SOCK_SEQPACKET socket")))
        }
    }

    /// The control and the execution channel that this worker process was started with. Works once.
    pub fn inherited() -> Result<(Self, Self), IpcError> {
        let (control, execution) =
            fds::take_inherited().map_err(|error| IpcError::io("inherited sockets", error))?;
        Ok((Self::from_fd(control)?, Self::from_fd(execution)?))
    }

    fn over(socket: OwnedFd) -> Self {
        Self { socket, encoder: Encoder::new(MAX_FRAME_FROM_WORKER), decoder: Decoder::new(MAX_FRAME) }
    }

    /// The socket. Packets that are waiting there stay.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.socket
    }

    /// Sends a message, and with it a copy of an fd. Waits while the socket is full.
    pub fn send<M: Message>(&mut self, message: &M, fd: Option<BorrowedFd<'_>>) -> Result<(), IpcError> {
        let outgoing = self.encoder.encode(message, fd)?;
        outgoing.send(self.socket.as_fd(), Wait::Yes).map_err(send_error)
    }

    /// Sends a message now or not at all: [`IpcError::Full`] when the peer does not read.
    pub fn try_send<M: Message>(&mut self, message: &M, fd: Option<BorrowedFd<'_>>) -> Result<(), IpcError> {
        let outgoing = self.encoder.encode(message, fd)?;
        outgoing.send(self.socket.as_fd(), Wait::No).map_err(send_error)
    }

    /// Waits for a message. [`IpcError::Closed`] when the peer has gone and all it sent was received.
    pub fn recv<M: Message + Default>(&mut self) -> Result<Received<M>, IpcError> {
        let received = self.decoder.recv(self.socket.as_fd(), Wait::Yes)?;
        received.ok_or_else(|| IpcError::io("recvmsg", io::ErrorKind::WouldBlock))
    }

    /// A message that is already there.
    pub fn try_recv<M: Message + Default>(&mut self) -> Result<Option<Received<M>>, IpcError> {
        self.decoder.recv(self.socket.as_fd(), Wait::No)
    }

    /// Waits until one of the channels (at most [`socket::MAX_WAIT`]) has a message or has lost its peer.
    pub fn wait_readable(channels: &[&Self], timeout: Option<Duration>) -> Result<Readiness, IpcError> {
        socket::wait_readable(channels.iter().map(|channel| channel.as_fd()), timeout)
            .map(Readiness)
            .map_err(|error| IpcError::io("poll", error))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Which of several channels have something to receive, the end of the stream included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness(u32);

impl Readiness {
    /// Whether the channel at that place of the list does.
    #[must_use]
    pub const fn is_readable(self, index: usize) -> bool {
        index < socket::MAX_WAIT && self.0 & (1 << index) != 0
    }

    /// Whether none does: the time was over.
    #[must_use]
    pub const fn timed_out(self) -> bool {
        self.0 == 0
    }
}
