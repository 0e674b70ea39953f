//! The supervisor's half: calls return, or are futures of a tokio runtime. Its peer is not trusted.

use super::{
    Channel, Received,
    frame::{Decoder, Encoder, send_error},
};
use crate::{
    error::IpcError,
    packet::{MAX_FRAME, MAX_FRAME_FROM_WORKER},
    sys::{
        reactor::Registered,
        socket::{self, Wait},
    },
};
use nix::errno::Errno;
use prost::Message;
use std::{
    future::poll_fn,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    task::{Context, Poll, ready},
};
use tokio::io::Interest;

/// One end of a packet socket, registered with a tokio runtime.
///
/// It takes messages of up to [`MAX_FRAME_FROM_WORKER`] and sends up to [`MAX_FRAME`].
#[derive(Debug)]
pub struct AsyncChannel {
    socket: Registered,
    encoder: Encoder,
    decoder: Decoder,
}

impl AsyncChannel {
    /// Registers a channel's end.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O enabled.
    pub fn new(channel: Channel) -> Result<Self, IpcError> {
        let socket = Registered::new(channel.into_fd(), Interest::READABLE | Interest::WRITABLE)
            .map_err(|error| IpcError::io("registration of a socket", error))?;
        Ok(Self { socket, encoder: Encoder::new(MAX_FRAME), decoder: Decoder::new(MAX_FRAME_FROM_WORKER) })
    }

    /// The socket, no longer registered.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.socket.into_fd()
    }

    /// Waits for a message. [`IpcError::Closed`] when the peer has gone and all it sent was received.
    /// Nothing is lost when the future is dropped.
    pub async fn recv<M: Message + Default>(&mut self) -> Result<Received<M>, IpcError> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// A message, if there is one; otherwise the task is woken when there is.
    pub fn poll_recv<M: Message + Default>(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Received<M>, IpcError>> {
        loop {
            let mut ready = match ready!(self.socket.get().poll_read_ready(cx)) {
                Ok(ready) => ready,
                Err(error) => return Poll::Ready(Err(IpcError::io("reactor", error))),
            };
            match self.decoder.recv(self.socket.as_fd(), Wait::No) {
                Ok(Some(received)) => return Poll::Ready(Ok(received)),
                Ok(None) => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// A message that is already there.
    pub fn try_recv<M: Message + Default>(&mut self) -> Result<Option<Received<M>>, IpcError> {
        self.decoder.recv(self.socket.as_fd(), Wait::No)
    }

    /// Sends a message now or not at all, and with it a copy of an fd. [`IpcError::Full`] when the peer does not read.
    pub fn try_send<M: Message>(&mut self, message: &M, fd: Option<BorrowedFd<'_>>) -> Result<(), IpcError> {
        let outgoing = self.encoder.encode(message, fd)?;
        outgoing.send(self.socket.as_fd(), Wait::No).map_err(send_error)
    }

    /// Ready when a packet can be sent again after [`IpcError::Full`], or when the peer has gone; otherwise the task is
    /// woken then. The kernel waits until three quarters of the buffer are free, so this is not asked for each packet.
    pub fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), IpcError>> {
        loop {
            let mut ready = match ready!(self.socket.get().poll_write_ready(cx)) {
                Ok(ready) => ready,
                Err(error) => return Poll::Ready(Err(IpcError::io("reactor", error))),
            };
            // What the reactor remembers may be older than the last attempt to send.
            match socket::is_writable(self.socket.as_fd()) {
                Ok(true) => return Poll::Ready(Ok(())),
                Ok(false) => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(IpcError::io("poll", error))),
            }
        }
    }

    /// Waits until a packet can be sent again after [`IpcError::Full`], or the peer has gone.
    pub async fn writable(&mut self) -> Result<(), IpcError> {
        poll_fn(|cx| self.poll_writable(cx)).await
    }

    /// Sends a message, and with it a copy of an fd. Waits while the socket is full, for ever if the peer never reads.
    /// If the future is dropped before its end, the message was not sent.
    pub async fn send<M: Message>(
        &mut self,
        message: &M,
        fd: Option<BorrowedFd<'_>>,
    ) -> Result<(), IpcError> {
        let Self { socket, encoder, .. } = self;
        let outgoing = encoder.encode(message, fd)?;
        match outgoing.send(socket.as_fd(), Wait::No) {
            Err(Errno::EAGAIN) => {}
            sent => return sent.map_err(send_error),
        }
        loop {
            let mut ready = socket.get().writable().await.map_err(|error| IpcError::io("reactor", error))?;
            let send = |_: &_| outgoing.send(socket.as_fd(), Wait::No).map_err(io::Error::from);
            match ready.try_io(send) {
                Err(_would_block) => {}
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => {
                    return Err(send_error(
                        error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw),
                    ));
                }
            }
        }
    }
}

impl AsFd for AsyncChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
