//! Finding room for an output, and asking the supervisor for more when there is none.
//!
//! Every question gets one answer: a segment, or a refusal. Meanwhile slots come back, which may be enough by itself.
//! The supervisor decides what an instance may have; a refusal fails the request that needed the room, nothing else.

use super::Session;
use crate::error::WorkerError;
use nereid_ipc::arena::OutputLease;
use nereid_proto::worker::{NeedSegment, SegmentRefused, execution_to_supervisor::Message};
use std::time::Duration;

/// Segments that may be given for one need without its being met.
const QUESTIONS_MAX: u32 = 8;
/// When slots came back but the room is still short, and no answer comes for so long, the question is put again: the
/// supervisor may have taken the slots for the answer.
const PATIENCE: Duration = Duration::from_millis(100);

impl Session {
    /// A run of `length` bytes, waited for if need be. A failure of the session is remembered and told as an error.
    pub(crate) fn lease(&mut self, length: u64) -> Result<OutputLease, WorkerError> {
        self.check_alive()?;
        match self.memory.lease(length) {
            Ok(lease) => Ok(lease),
            Err(_short) => self.ask_for_room(length),
        }
    }

    fn ask_for_room(&mut self, length: u64) -> Result<OutputLease, WorkerError> {
        // What has come back already may be enough.
        self.within(Self::catch_up)?;
        for _question in 0..QUESTIONS_MAX {
            if let Ok(lease) = self.memory.lease(length) {
                return Ok(lease);
            }
            self.memory.forget_answer();
            self.within(|session| session.answer(Message::NeedSegment(NeedSegment { length })))?;
            if let Some(lease) = self.await_room(length)? {
                return Ok(lease);
            }
        }
        Err(WorkerError::internal(format!(
            "no room for an output of {length} bytes after {QUESTIONS_MAX} more segments of shared memory"
        )))
    }

    /// None when there was an answer and the room is still short.
    fn await_room(&mut self, length: u64) -> Result<Option<OutputLease>, WorkerError> {
        let added = self.memory.segments_added();
        let released = self.memory.slots_released();
        loop {
            let arrived = self.within(|session| session.wait(Some(PATIENCE)))?;
            if let Ok(lease) = self.memory.lease(length) {
                return Ok(Some(lease));
            }
            if let Some(refused) = self.memory.refusal(length) {
                return Err(no_room(refused));
            }
            if self.memory.segments_added() > added || (!arrived && self.memory.slots_released() > released) {
                return Ok(None);
            }
        }
    }
}

fn no_room(SegmentRefused { length, limit }: SegmentRefused) -> WorkerError {
    WorkerError::unavailable(format!(
        "no room for an output of {length} bytes: the output memory of this instance is limited to {limit} bytes; \
         ask for less at once or raise the limit"
    ))
}
