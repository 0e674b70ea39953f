//! Shared memory for tensors: memfds of fixed size, mapped by both sides, passed by fd.
//!
//! Each incarnation of a worker has two arenas, and each grows by whole segments up to a limit. In the *input* arena
//! the supervisor allocates and writes ([`InputArena`]), the worker looks up ([`InputTable`]). In the *output* arena
//! the worker allocates and writes ([`OutputArena`]), the supervisor looks up ([`OutputReader`]) and has it mapped
//! without the right to write.
//!
//! All book-keeping is private to the side that allocates. The shared memory holds tensor bytes and nothing else, so
//! nothing that a peer writes there can lead this side astray. When the last holder goes, the kernel frees it.
//!
//! **Bytes may change while they are looked at.** A worker can write to all of its memory at any time. Slices that are
//! read from it are good for copying and for handing to the network; whoever parses, copies first.

mod allocator;
mod error;
mod input;
mod layout;
mod output;
mod pool;
mod reader;
mod segment;
mod table;
mod view;

pub use crate::sys::mmap::Access;
pub use error::{ArenaError, OutOfBounds, Short};
pub use input::{InputArena, Lease};
pub use layout::{ALIGNMENT, DEFAULT_LIMIT, MAX_SEGMENT, MIN_SEGMENT, align_up};
pub use output::{OutputArena, OutputLease};
pub use reader::{OutputReader, OutputView};
pub use segment::{NewSegment, Segment};
pub use table::{InputTable, InputView};
