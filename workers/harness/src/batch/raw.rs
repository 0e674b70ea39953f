//! The way to lie, so that tests can see what the supervisor makes of it. Nothing here is checked.

use super::Batch;
use crate::{error::WorkerError, session::Session};
use nereid_proto::worker::{ExecutionToSupervisor, Tensor, execution_to_supervisor::Message};
use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

/// Sends anything at all. See [`Batch::raw`].
#[derive(Debug)]
pub struct Raw<'a, 'b> {
    pub(super) batch: &'a mut Batch<'b>,
}

impl Raw<'_, '_> {
    /// The batch's number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.batch.number
    }

    /// The generation that an honest frame names.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.batch.session.identity().generation()
    }

    /// The descriptors of the outputs that a request has got, to be changed before they are sent.
    pub fn outputs(&mut self, index: usize) -> Option<&mut Vec<Tensor>> {
        self.batch.answers.get_mut(index).map(super::Answer::outputs)
    }

    /// Sends a message now, in an honest frame.
    pub fn send(&mut self, message: Message) -> Result<(), WorkerError> {
        let generation = self.generation();
        self.send_frame(&ExecutionToSupervisor { generation, message: Some(message) })
    }

    /// Sends a frame now, as it is.
    pub fn send_frame(&mut self, frame: &ExecutionToSupervisor) -> Result<(), WorkerError> {
        self.batch.session.within(|session: &mut Session| session.send_raw(frame))
    }

    /// A second fd of the execution socket, for bytes that are no frame, and for closing it.
    pub fn socket(&self) -> io::Result<OwnedFd> {
        self.batch.session.execution().as_fd().try_clone_to_owned()
    }
}
