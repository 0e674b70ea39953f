//! What the two sides of the process boundary agree on: packets, descriptors, arenas, inherited fds.
//!
//! Layers, from below: [`sys`] gives safe faces to system calls; [`packet`] is the framing, pure; [`channel`] carries
//! packets and fds over a `SOCK_SEQPACKET` pair, blocking for workers and, with the feature `tokio`, nonblocking for
//! the supervisor; [`datatype`] and [`descriptor`] say what a tensor is and check where it claims to lie; [`arena`]
//! holds the shared memory.
//!
//! Trust: the supervisor believes nothing that a worker sends. Memory that a worker can write holds tensor bytes only
//! and decides nothing. Descriptors arrive in packets, which are copies that cannot change, and are checked against
//! bounds that the supervisor itself knows. A worker checks the supervisor's frames in the same way, since the code is
//! the same, but relies on it.
//!
//! Bytes in shared memory may change while they are looked at. They are copied, or handed to the network, and never
//! read twice to decide something.
//!
//! Deliberately not here: what the messages mean, scheduling, life cycles, and any model framework.

pub mod arena;
pub mod channel;
pub mod datatype;
pub mod descriptor;
pub mod elements;
pub mod envelope;
pub mod error;
pub mod packet;
pub mod sys;
pub mod version;

#[cfg(feature = "tokio")]
pub use channel::AsyncChannel;
pub use channel::{Channel, Readiness, Received};
pub use datatype::{DataType, ShapeError};
pub use descriptor::DescriptorError;
pub use error::{IpcError, Malformed};
