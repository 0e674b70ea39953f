//! A process held by an fd: its number cannot come to mean another process.
#![expect(unsafe_code, reason = "pidfd_open and pidfd_send_signal have no wrapper")]

use nix::{errno::Errno, sys::signal::Signal};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

/// A process. The fd becomes readable when it has ended.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// Opens a process by its number. The caller knows that it was not reaped yet, because it is its own child.
    pub fn open(pid: u32) -> io::Result<Self> {
        let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
        // SAFETY: no pointers; the kernel checks both numbers. The fd is close-on-exec.
        let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
        let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
        // SAFETY: the kernel has just opened it for us.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Signals this process only, not its group.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let no_info = ptr::null::<libc::siginfo_t>();
        // SAFETY: a null info means that the kernel fills it in.
        let sent = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal as libc::c_int, no_info, 0)
        };
        Errno::result(sent)?;
        Ok(())
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
