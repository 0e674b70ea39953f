//! An fd that tokio's reactor watches.
#![expect(unsafe_code, reason = "tokio asks for a promise about the fd")]

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};
use tokio::io::{Interest, unix::AsyncFd};

/// An fd registered with the reactor of the current runtime.
///
/// The [`AsyncFd`] is never handed out mutably: the fd inside may not be exchanged while it is registered.
#[derive(Debug)]
pub(crate) struct Registered(AsyncFd<OwnedFd>);

impl Registered {
    /// # Panics
    /// Outside of a tokio runtime.
    pub(crate) fn new(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        // SAFETY: an OwnedFd is open and keeps its number as long as it lives, and nothing here moves it out.
        let registered = unsafe { AsyncFd::register_with_interest(fd, interest) };
        registered.map(Self).map_err(|error| error.into_parts().1)
    }

    pub(crate) const fn get(&self) -> &AsyncFd<OwnedFd> {
        &self.0
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0.into_inner()
    }
}

impl AsFd for Registered {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}
