//! Safe faces over system calls; with `arena/view.rs`, all the unsafe code of this crate.
//!
//! Each module wraps one subject and keeps what makes its calls sound to itself. Nothing here knows the protocol.

pub mod fds;
pub mod heap;
pub mod memfd;
pub mod memory_use;
pub mod mmap;
pub mod orphans;
pub mod peer;
pub mod pidfd;
pub mod prctl;
pub mod priority;
pub mod processes;
#[cfg(feature = "tokio")]
pub(crate) mod reactor;
pub mod sandbox;
pub mod socket;
pub mod spawn;
#[cfg(feature = "tokio")]
pub mod timer;
pub mod worker_process;
pub mod workers;
