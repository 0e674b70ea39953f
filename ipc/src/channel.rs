//! Framed packet sockets that carry messages and fds. The two halves differ in how they wait, and in how much they
//! take: the worker's [`Channel`] blocks, the supervisor's [`AsyncChannel`] belongs to a tokio runtime.
//!
//! One packet is one system call. Buffers are reused; a message allocates what its decoded form needs and no more.
//! Every message received is bounded, every fd that nobody asked for is closed.

mod blocking;
mod frame;
#[cfg(feature = "tokio")]
mod nonblocking;

pub use blocking::{Channel, Readiness};
#[cfg(feature = "tokio")]
pub use nonblocking::AsyncChannel;

use std::os::fd::OwnedFd;

/// A message, and the fd that came with it.
#[derive(Debug)]
pub struct Received<M> {
    /// The message.
    pub message: M,
    /// Closed on `exec`; of what kind the file is, is still to be checked.
    pub fd: Option<OwnedFd>,
}

#[cfg(test)]
mod tests;
