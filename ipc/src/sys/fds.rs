//! File descriptors that come from elsewhere: with a packet, or inherited over `exec`.
#![expect(unsafe_code, reason = "raw fds become owned ones")]

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, FdFlag, fcntl},
};
use std::{
    io,
    mem::MaybeUninit,
    os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd},
    sync::atomic::{AtomicBool, Ordering},
};

/// Where a worker finds its control socket.
pub const CONTROL_FD: RawFd = 3;
/// Where a worker finds its execution socket.
pub const EXECUTION_FD: RawFd = 4;

/// Fds that a packet may bring before the kernel cuts; more than one is refused, but has to be closed.
const FDS: usize = 4;
/// `CMSG_SPACE` of so many fds.
const SPACE: usize = size_of::<libc::cmsghdr>() + FDS * size_of::<RawFd>();

/// Room for the control data of one received packet.
#[repr(C)]
pub(super) union ControlBuffer {
    /// For the alignment.
    header: libc::cmsghdr,
    bytes: [MaybeUninit<u8>; SPACE],
}

/// What the control data of one packet was.
#[derive(Debug, Default)]
pub(super) struct Passed {
    pub(super) fd: Option<OwnedFd>,
    /// There were more fds; they are closed.
    pub(super) extra: bool,
    /// There was something else.
    pub(super) other: bool,
}

impl ControlBuffer {
    pub(super) const LEN: usize = SPACE;

    pub(super) const fn new() -> Self {
        Self { bytes: [MaybeUninit::uninit(); SPACE] }
    }
}

/// Takes ownership of each fd in the control data of `message`.
///
/// # Safety
/// `message` was filled by a successful `recvmsg`, its control buffer is still there, and this is called once for it.
pub(super) unsafe fn take_passed(message: &libc::msghdr) -> Passed {
    let mut passed = Passed::default();
    // SAFETY: the header and its buffer are valid, says the caller.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a header within the buffer.
    while let Some(header) = unsafe { next.as_ref() } {
        if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS {
            // SAFETY: the kernel wrote this header, so its data is the fds that it installed.
            unsafe { take_fds(header, &mut passed) };
        } else {
            passed.other = true;
        }
        // SAFETY: `header` lies in the buffer of `message`.
        next = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    passed
}

/// # Safety
/// `header` is of an SCM_RIGHTS message that the kernel wrote; its fds have no owner yet.
unsafe fn take_fds(header: &libc::cmsghdr, passed: &mut Passed) {
    // SAFETY: pure arithmetic on a valid header.
    let data = unsafe { libc::CMSG_DATA(header) }.cast::<RawFd>();
    // SAFETY: pure arithmetic.
    let before = unsafe { libc::CMSG_LEN(0) };
    let length = header.cmsg_len.saturating_sub(usize::try_from(before).unwrap_or(usize::MAX));
    for index in 0..length / size_of::<RawFd>() {
        // SAFETY: within the data of this header.
        let place = unsafe { data.add(index) };
        // SAFETY: the kernel wrote an fd there; control data need not be aligned for us.
        let raw = unsafe { place.read_unaligned() };
        // SAFETY: the kernel installed it for this process and nobody owns it yet.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        if passed.fd.is_some() || passed.extra {
            passed.fd = None;
            passed.extra = true;
        } else {
            passed.fd = Some(fd);
        }
    }
}

/// The control and the execution socket of a worker, fds 3 and 4. Works once in a process.
///
/// Both are marked close-on-exec, so that programs which a model starts do not inherit them: an fd that lives on
/// elsewhere would hide the worker's death.
pub fn take_inherited() -> io::Result<(OwnedFd, OwnedFd)> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::AcqRel) {
        return Err(io::Error::other("fds 3 and 4 were taken before"));
    }
    let owned = |raw: RawFd| -> io::Result<OwnedFd> {
        // SAFETY: only looked at; a number that is not open gives EBADF.
        let borrowed = unsafe { BorrowedFd::borrow_raw(raw) };
        match fcntl(borrowed, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
            Err(Errno::EBADF) => {
                return Err(io::Error::other(format!(
                    "fd {raw} is not open: a worker is started by the supervisor, not by hand"
                )));
            }
            other => other?,
        };
        // SAFETY: it is open, was inherited for this purpose, and TAKEN lets nobody take it twice.
        Ok(unsafe { OwnedFd::from_raw_fd(raw) })
    };
    Ok((owned(CONTROL_FD)?, owned(EXECUTION_FD)?))
}
