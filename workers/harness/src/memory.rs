//! The two arenas as the worker sees them, and the question to the supervisor when output memory runs short.
//!
//! Deliberately not here: waiting for the answer, which is the session's.

use crate::end::End;
use nereid_ipc::arena::{ArenaError, InputTable, InputView, OutputArena, OutputLease, Short};
use nereid_proto::worker::{RemoveSegment, SegmentRefused, Tensor, add_segment::Direction};
use std::os::fd::OwnedFd;

/// Input segments to look into and output segments to write to.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    inputs: InputTable,
    outputs: OutputArena,
    question: Question,
}

/// What the supervisor was asked, and what it said since.
#[derive(Debug, Default)]
struct Question {
    answer: Option<SegmentRefused>,
    segments_added: u64,
    slots_released: u64,
}

impl Memory {
    pub(crate) fn add(&mut self, direction: Direction, id: u32, fd: OwnedFd, length: u64) -> Result<(), End> {
        let added = match direction {
            Direction::Input => self.inputs.add_segment(id, fd, length),
            Direction::Output => {
                self.question.segments_added += 1;
                self.outputs.add_segment(id, fd, length)
            }
        };
        added.map_err(end)
    }

    /// Gives a segment up; the supervisor has no use for it any more.
    pub(crate) fn remove(&mut self, removed: &RemoveSegment) -> Result<(), End> {
        match removed.direction() {
            Direction::Input => self.inputs.remove_segment(removed.segment),
            Direction::Output => self.outputs.remove_segment(removed.segment),
        }
        .map_err(end)
    }

    /// Takes back slots that the supervisor has finished with.
    pub(crate) fn release(&mut self, slots: &[u64]) -> Result<(), End> {
        self.question.slots_released += slots.len() as u64;
        slots.iter().try_for_each(|&slot| self.outputs.release(slot)).map_err(end)
    }

    /// Takes back a slot of which the supervisor was not told after all. Several outputs may share it.
    pub(crate) fn take_back(&self, slot: u64) {
        // The first of several does it; the others find it gone.
        let _taken = self.outputs.release(slot);
    }

    pub(crate) fn refuse(&mut self, refused: SegmentRefused) {
        self.question.answer = Some(refused);
    }

    pub(crate) fn view(&self, tensor: &Tensor) -> Result<InputView, End> {
        self.inputs.view(tensor).map_err(|error| End::broken(error.to_string()))
    }

    pub(crate) fn lease(&self, length: u64) -> Result<OutputLease, Short> {
        self.outputs.lease(length)
    }

    /// Forgets a refusal that belongs to an earlier need.
    pub(crate) fn forget_answer(&mut self) {
        self.question.answer = None;
    }

    /// The refusal of a need of `length` bytes.
    pub(crate) fn refusal(&self, length: u64) -> Option<SegmentRefused> {
        self.question.answer.filter(|refused| refused.length == length)
    }

    /// Output segments received so far.
    pub(crate) fn segments_added(&self) -> u64 {
        self.question.segments_added
    }

    /// Output slots that have come back so far.
    pub(crate) fn slots_released(&self) -> u64 {
        self.question.slots_released
    }
}

fn end(error: ArenaError) -> End {
    match error {
        ArenaError::Io { .. } => End::System(format!("a segment of shared memory failed: {error}")),
        other => End::broken(other.to_string()),
    }
}
