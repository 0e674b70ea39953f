//! A timer of the kernel's, for waits that the runtime's own timer would round up to whole milliseconds.
#![expect(unsafe_code, reason = "timerfd calls, without a wrapper that gives the fd away")]

use super::reactor::Registered;
use nix::errno::Errno;
use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::io::Interest;

/// A one-shot timer on the monotonic clock, registered with the reactor of the current runtime.
#[derive(Debug)]
pub struct Timer(Registered);

impl Timer {
    /// A timer that is not set.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new() -> io::Result<Self> {
        // SAFETY: two numbers, no pointers.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        let fd = Errno::result(fd)?;
        // SAFETY: the kernel has just opened it for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Registered::new(fd, Interest::READABLE).map(Self)
    }

    /// Sets it to expire once after that time, at least a nanosecond. What was set before is forgotten.
    pub fn set(&self, after: Duration) -> io::Result<()> {
        let after = after.max(Duration::from_nanos(1));
        let value = libc::timespec {
            tv_sec: after.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: after.subsec_nanos().into(),
        };
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = libc::itimerspec { it_interval: zero, it_value: value };
        let fd = self.0.get().get_ref().as_raw_fd();
        // SAFETY: the setting lives through the call; a null old value means that it is not wanted.
        Errno::result(unsafe { libc::timerfd_settime(fd, 0, &raw const setting, ptr::null_mut()) })?;
        Ok(())
    }

    /// Ready once when it has expired.
    pub fn poll_expired(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.get().poll_read_ready(cx))?;
            let mut count = [0_u8; 8];
            let read = nix::unistd::read(self.0.get().get_ref(), &mut count);
            match read {
                Ok(_) => return Poll::Ready(Ok(())),
                Err(Errno::EAGAIN) => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests;
