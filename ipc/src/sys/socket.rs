//! `SOCK_SEQPACKET` sockets: one call sends or receives one packet and at most one fd.
//!
//! Sockets stay in blocking mode; a call that must not wait says so itself. That way the mode cannot differ from what
//! the caller thinks, and the two halves of a pair need no agreement.
#![expect(unsafe_code, reason = "recvmsg with control data, without an allocation for each packet")]

use super::fds::{ControlBuffer, take_passed};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{
        AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, getsockopt, send, sendmsg, setsockopt,
        socketpair, sockopt,
    },
};
use std::{
    io::{self, IoSlice},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    ptr,
    time::{Duration, Instant},
};

/// Asked of the kernel for each socket, so that several full packets fit whatever the system's default is.
const SEND_BUFFER: usize = 256 * 1024;

/// Whether a call may wait for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Yes,
    No,
}

impl Wait {
    fn flags(self) -> MsgFlags {
        match self {
            Self::Yes => MsgFlags::empty(),
            Self::No => MsgFlags::MSG_DONTWAIT,
        }
    }
}

/// One received packet.
#[derive(Debug)]
pub struct Packet {
    /// Bytes in the buffer; 0 at the end of the stream.
    pub length: usize,
    /// The fd that came along.
    pub fd: Option<OwnedFd>,
    /// The packet was longer than the buffer.
    pub cut: bool,
    /// More than one fd came along; all are closed.
    pub extra_fds: bool,
    /// Control data other than fds came along.
    pub other_control: bool,
}

/// Two connected sockets, closed on `exec`.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (a, b) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    for socket in [&a, &b] {
        setsockopt(socket, sockopt::SndBuf, &SEND_BUFFER)?;
    }
    Ok((a, b))
}

/// Whether it is a packet socket.
#[must_use]
pub fn is_packet_socket(fd: BorrowedFd<'_>) -> bool {
    getsockopt(&fd, sockopt::SockType).is_ok_and(|kind| kind == SockType::SeqPacket)
}

/// Sends one packet. `EAGAIN` when it may not wait and the peer does not read.
pub fn send_packet(
    socket: BorrowedFd<'_>,
    packet: &[u8],
    fd: Option<BorrowedFd<'_>>,
    wait: Wait,
) -> Result<(), Errno> {
    let flags = MsgFlags::MSG_NOSIGNAL | wait.flags();
    let socket = socket.as_raw_fd();
    loop {
        let sent = match fd {
            None => send(socket, packet, flags),
            Some(fd) => {
                let fds = [fd.as_raw_fd()];
                let control = [ControlMessage::ScmRights(&fds)];
                sendmsg(socket, &[IoSlice::new(packet)], &control, flags, None::<&()>)
            }
        };
        match sent {
            Err(Errno::EINTR) => {}
            // A packet is sent whole or not at all.
            sent => return sent.map(drop),
        }
    }
}

/// Receives one packet. `EAGAIN` when it may not wait and there is none.
pub fn recv_packet(socket: BorrowedFd<'_>, buffer: &mut [u8], wait: Wait) -> Result<Packet, Errno> {
    let flags = (MsgFlags::MSG_CMSG_CLOEXEC | wait.flags()).bits();
    let mut control = ControlBuffer::new();
    let mut bytes = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    loop {
        let mut message = libc::msghdr {
            msg_name: ptr::null_mut(),
            msg_namelen: 0,
            msg_iov: &raw mut bytes,
            msg_iovlen: 1,
            msg_control: (&raw mut control).cast(),
            msg_controllen: ControlBuffer::LEN,
            msg_flags: 0,
        };
        // SAFETY: both buffers are ours, writable, of the lengths told, and outlive the call.
        let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
        let length = match Errno::result(length) {
            Err(Errno::EINTR) => continue,
            length => length?,
        };
        // SAFETY: recvmsg succeeded, its control buffer is still here, and this happens once.
        let passed = unsafe { take_passed(&message) };
        let cut_control = message.msg_flags & libc::MSG_CTRUNC != 0;
        return Ok(Packet {
            length: usize::try_from(length).map_err(|_| Errno::EPROTO)?,
            fd: passed.fd.filter(|_| !cut_control),
            cut: message.msg_flags & libc::MSG_TRUNC != 0,
            extra_fds: passed.extra || cut_control,
            other_control: passed.other,
        });
    }
}

/// Waits until one of the sockets has something to read or has lost its peer, or the time is over.
/// Bit `i` of the result stands for socket `i`; 0 after the time-out. At most [`MAX_WAIT`] sockets.
pub fn wait_readable<'a>(
    sockets: impl Iterator<Item = BorrowedFd<'a>>,
    timeout: Option<Duration>,
) -> io::Result<u32> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut polled = [const { None }; MAX_WAIT];
    let mut count = 0;
    for socket in sockets {
        *polled.get_mut(count).ok_or(Errno::EINVAL)? = Some(socket);
        count += 1;
    }
    // poll(2) ignores the unused places' events only if their fd is negative, so they are not passed at all.
    let Some(first) = polled[0] else { return Err(Errno::EINVAL.into()) };
    let mut polled = polled.map(|socket| PollFd::new(socket.unwrap_or(first), PollFlags::POLLIN));
    loop {
        let left = match deadline {
            None => PollTimeout::NONE,
            Some(deadline) => poll_timeout(deadline.saturating_duration_since(Instant::now())),
        };
        match poll(&mut polled[..count], left) {
            Err(Errno::EINTR) => {}
            // The time was clamped, and is not over.
            Ok(0) if deadline.is_none_or(|deadline| Instant::now() < deadline) => {}
            result => {
                result?;
                break;
            }
        }
    }
    let ready = polled[..count].iter().enumerate().filter(|(_, socket)| socket.any() == Some(true));
    Ok(ready.fold(0, |bits, (index, _)| bits | 1 << index))
}

/// Whether the socket has room again, or has lost its peer.
pub fn is_writable(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut polled = [PollFd::new(socket, PollFlags::POLLOUT)];
    Ok(poll(&mut polled, PollTimeout::ZERO)? > 0)
}

/// The most sockets that [`wait_readable`] takes.
pub const MAX_WAIT: usize = 8;

/// Rounded up, so that waiting again at the end does not spin.
fn poll_timeout(left: Duration) -> PollTimeout {
    let milliseconds = left.as_nanos().div_ceil(1_000_000);
    PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)
}

/// The same waiting for one fd of any kind.
pub fn wait_fd(fd: impl AsFd, timeout: Option<Duration>) -> io::Result<bool> {
    Ok(wait_readable(std::iter::once(fd.as_fd()), timeout)? != 0)
}
