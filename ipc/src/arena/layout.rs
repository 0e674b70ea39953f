//! Offsets, alignment and the sizes of segments: arithmetic only.

/// Every lease begins at a multiple of this: a cache line, and enough for any vector instruction.
pub const ALIGNMENT: u64 = 64;
/// The smallest segment that is made. The first one has this size, if that is enough.
pub const MIN_SEGMENT: u64 = 1024 * 1024;
/// The largest segment, whatever the limit of an arena.
pub const MAX_SEGMENT: u64 = 1 << 40;
/// The limit of an arena, unless another is given.
pub const DEFAULT_LIMIT: u64 = 1024 * 1024 * 1024;

/// The first multiple of [`ALIGNMENT`] that is not below `offset`; none past the end of 64 bits.
#[must_use]
pub const fn align_up(offset: u64) -> Option<u64> {
    offset.checked_next_multiple_of(ALIGNMENT)
}

/// The length of the next segment for a need of `needed` bytes, when the last one had `last` and all together have
/// `mapped` of `limit`. It doubles, so that a growing load needs few; the limit may make it smaller, but never less
/// than the need. None if the limit does not allow even that.
pub(super) fn next_segment(needed: u64, last: u64, mapped: u64, limit: u64) -> Option<u64> {
    let room = limit.checked_sub(mapped)?.min(MAX_SEGMENT);
    let needed = align_up(needed.max(1))?;
    let wanted = needed.checked_next_multiple_of(MIN_SEGMENT)?.max(last.saturating_mul(2));
    let length = wanted.min(room) / ALIGNMENT * ALIGNMENT;
    (length >= needed).then_some(length)
}

#[cfg(test)]
mod tests;
