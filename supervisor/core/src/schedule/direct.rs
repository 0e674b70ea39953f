//! No batching: the first request, alone, whenever there is room.
//!
//! Deliberately without any say in which instance takes it; that is the placement's.

use super::batch::Verdict;
use super::queue::Waiting;

/// Takes the first one.
pub(super) fn form<'a>(mut waiting: impl Iterator<Item = &'a Waiting>) -> Verdict {
    match waiting.next() {
        Some(_) => Verdict::Send { requests: 1, full: true },
        None => Verdict::Nothing,
    }
}
