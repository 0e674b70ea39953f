//! What can go wrong in an arena.

use super::layout::MAX_SEGMENT;
use std::io;

/// An access beyond the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{length} bytes at {offset} do not lie within {size} bytes")]
pub struct OutOfBounds {
    /// Where the access begins.
    pub offset: u64,
    /// How many bytes it wants.
    pub length: u64,
    /// How many there are.
    pub size: u64,
}

/// No free run of the output segments is long enough; the supervisor is to be asked for that many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no free run of {length} bytes in the output segments")]
pub struct Short {
    /// As `NeedSegment.length`.
    pub length: u64,
}

/// An error of an arena or a segment.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    #[error(
        "{needed} bytes are needed, and {mapped} of the arena's limit of {limit} bytes are taken; \
         raise the limit of the instance or send less at once"
    )]
    LimitReached { needed: u64, mapped: u64, limit: u64 },
    #[error("a segment of {0} bytes; it must have 1 to {MAX_SEGMENT}")]
    Size(u64),
    #[error("a segment of {told} bytes told, but the fd has {actual}")]
    WrongSize { told: u64, actual: u64 },
    #[error("the fd of a segment is not a memfd sealed against shrinking and growing")]
    Seals,
    #[error("segment {0} is there already")]
    DuplicateSegment(u32),
    #[error("there is no segment {0}")]
    UnknownSegment(u32),
    #[error("there is no output slot {0}, or it was released before")]
    UnknownSlot(u64),
    #[error("all numbers for segments are used up")]
    SegmentNumbers,
    #[error("the segment is mapped for reading only")]
    ReadOnly,
    #[error("the segment is mapped for writing; it can be copied from, but not be looked at in place")]
    Writable,
    #[error("{call}: {source}")]
    Io { call: &'static str, source: io::Error },
}

impl ArenaError {
    pub(super) fn io(call: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { call, source }
    }
}
