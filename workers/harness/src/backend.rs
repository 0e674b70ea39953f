//! What a framework has to do to be a worker: one trait.
//!
//! Deliberately not here: sockets, processes and shared memory. A backend sees models, requests and tensors.

use crate::{batch::Batch, error::WorkerError, model::ModelContext};

pub use nereid_proto::worker::description::Proposal as Description;

/// A framework that holds one model instance.
///
/// All methods are called on the thread that called [`run`](crate::run), one at a time. A panic in any of them ends the
/// worker: its last words name the message, and the supervisor starts another.
pub trait Backend {
    /// What the model's own files say about its inputs and outputs, so that the configuration may leave it out.
    /// Called at most once, before [`load`](Self::load), and only when auto-complete is on.
    fn describe(&mut self, _model: &ModelContext) -> Result<Description, WorkerError> {
        Ok(Description::Nothing(nereid_proto::worker::Nothing {}))
    }

    /// Makes the model ready to execute. An error is the model's reason for being unavailable.
    fn load(&mut self, model: &ModelContext) -> Result<(), WorkerError>;

    /// Answers every request of the batch through `batch`; one that is left without an answer gets an INTERNAL error.
    fn execute(&mut self, batch: &mut Batch<'_>);

    /// The model's own readiness check, run between batches.
    fn is_ready(&mut self) -> Result<(), WorkerError> {
        Ok(())
    }

    /// Called once before a normal exit, after the last batch, if [`load`](Self::load) succeeded.
    fn unload(&mut self) {}

    /// Runs `block`, which waits for the supervisor. Whoever holds a lock that other threads of the process need, such
    /// as an interpreter's, gives it up meanwhile. It has no `self`, since it also runs within
    /// [`execute`](Self::execute), when output memory runs short.
    fn wait(block: &mut (dyn FnMut() + Send))
    where
        Self: Sized,
    {
        block();
    }
}
