//! Messages to packets and back, with reused buffers: what both halves of a channel do alike.

use super::Received;
use crate::{
    error::{IpcError, Malformed},
    packet::{self, Frame, MAX_PACKET},
    sys::{
        memfd,
        socket::{self, Packet, Wait},
    },
};
use nix::errno::Errno;
use prost::Message;
use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::FileExt,
    },
};

/// Encodes one message at a time.
#[derive(Debug)]
pub(super) struct Encoder {
    packet: Vec<u8>,
    limit: usize,
}

/// A message ready to be sent, more than once if need be.
#[derive(Debug)]
pub(super) struct Outgoing<'a> {
    packet: &'a [u8],
    spilled: Option<OwnedFd>,
    passed: Option<BorrowedFd<'a>>,
}

impl Encoder {
    pub(super) const fn new(limit: usize) -> Self {
        Self { packet: Vec::new(), limit }
    }

    pub(super) fn encode<'a, M: Message>(
        &'a mut self,
        message: &M,
        passed: Option<BorrowedFd<'a>>,
    ) -> Result<Outgoing<'a>, IpcError> {
        let length = message.encoded_len();
        if packet::encode(message, length, &mut self.packet) {
            return Ok(Outgoing { packet: &self.packet, spilled: None, passed });
        }
        // A spilled packet's fd is the message itself, so such a message cannot bring another.
        let limit = if passed.is_some() { MAX_PACKET - 1 } else { self.limit };
        if length > limit {
            return Err(IpcError::TooLarge { length, limit });
        }
        // Not into the reused buffer, which would stay that large.
        let contents = message.encode_to_vec();
        let spilled = memfd::message(c"nereid-message", &contents)
            .map_err(|error| IpcError::io("memfd of a message", error))?;
        self.packet.extend_from_slice(&packet::spilled(length as u64));
        Ok(Outgoing { packet: &self.packet, spilled: Some(spilled), passed: None })
    }
}

impl Outgoing<'_> {
    /// Sends it. `EAGAIN` when the peer does not read and the call may not wait.
    pub(super) fn send(&self, socket: BorrowedFd<'_>, wait: Wait) -> Result<(), Errno> {
        let fd = self.spilled.as_ref().map(AsFd::as_fd).or(self.passed);
        socket::send_packet(socket, self.packet, fd, wait)
    }
}

/// The error of a `send`.
pub(super) fn send_error(error: Errno) -> IpcError {
    match error {
        Errno::EAGAIN => IpcError::Full,
        Errno::EPIPE | Errno::ECONNRESET | Errno::ENOTCONN => IpcError::Closed,
        error => IpcError::io("send", error),
    }
}

/// Receives and decodes one packet at a time.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Of the length of the longest packet; the pages are touched when packets need them.
    buffer: Box<[u8]>,
    limit: usize,
}

impl Decoder {
    pub(super) fn new(limit: usize) -> Self {
        Self { buffer: vec![0; MAX_PACKET].into_boxed_slice(), limit }
    }

    /// Receives one message. None when there is none and the call may not wait.
    pub(super) fn recv<M: Message + Default>(
        &mut self,
        socket: BorrowedFd<'_>,
        wait: Wait,
    ) -> Result<Option<Received<M>>, IpcError> {
        match self.recv_packet(socket, wait) {
            Ok(packet) => self.decode(packet).map(Some),
            Err(Errno::EAGAIN) => Ok(None),
            Err(Errno::ECONNRESET) => Err(IpcError::Closed),
            Err(error) => Err(IpcError::io("recvmsg", error)),
        }
    }

    /// A peer that closes with unread packets in its queue leaves a reset behind, which is told once and before the
    /// packets that it had sent itself. Those still count: the last of them often says why it went.
    pub(super) fn recv_packet(&mut self, socket: BorrowedFd<'_>, wait: Wait) -> Result<Packet, Errno> {
        match socket::recv_packet(socket, &mut self.buffer, wait) {
            Err(Errno::ECONNRESET) => socket::recv_packet(socket, &mut self.buffer, wait),
            other => other,
        }
    }

    pub(super) fn decode<M: Message + Default>(&self, packet: Packet) -> Result<Received<M>, IpcError> {
        // An fd that is not passed on is closed by dropping it.
        let Packet { length, fd, cut, extra_fds, other_control } = packet;
        if cut {
            return Err(Malformed::Oversize.into());
        }
        if extra_fds {
            return Err(Malformed::ExtraFds.into());
        }
        if other_control {
            return Err(Malformed::Control.into());
        }
        // The end of the stream, or an empty packet: nobody of good faith sends one.
        let Some(bytes) = self.buffer.get(..length).filter(|bytes| !bytes.is_empty()) else {
            return Err(IpcError::Closed);
        };
        match packet::parse(bytes)? {
            Frame::Message(payload) => {
                let message = M::decode(payload).map_err(Malformed::from)?;
                Ok(Received { message, fd })
            }
            Frame::Spilled(length) => {
                let contents = read_spilled(length, fd, self.limit)?;
                let message = M::decode(contents.as_slice()).map_err(Malformed::from)?;
                Ok(Received { message, fd: None })
            }
        }
    }
}

/// Copies a spilled message. The file is not mapped, and only believed to be what its seals prove: then no read can
/// wait, and what is read cannot change meanwhile.
fn read_spilled(told: u64, fd: Option<OwnedFd>, limit: usize) -> Result<Vec<u8>, IpcError> {
    let file = File::from(fd.ok_or(Malformed::SpillWithoutFd)?);
    let length = usize::try_from(told)
        .ok()
        .filter(|&length| length <= limit)
        .ok_or(Malformed::SpillLimit { length: told, limit })?;
    if !memfd::has_seals(&file, memfd::MESSAGE_SEALS) {
        return Err(Malformed::SpillSeals.into());
    }
    let actual = memfd::size(&file).map_err(|error| IpcError::io("fstat of a spilled message", error))?;
    if actual != told {
        return Err(Malformed::SpillLength { told, actual }.into());
    }
    let mut contents = vec![0; length];
    match file.read_exact_at(&mut contents, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(Malformed::SpillLength { told, actual: 0 }.into())
        }
        Err(error) => Err(IpcError::io("pread of a spilled message", error)),
        Ok(()) => Ok(contents),
    }
}
