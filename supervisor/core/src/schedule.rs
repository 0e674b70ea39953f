//! Scheduling: which tickets run together, where, and when.
//!
//! One [`Scheduler`] per model version. It is told what arrives, what is cancelled, which instances live and which
//! batches are done; it answers with batches to run and tickets to refuse. Every ticket that goes in by
//! [`Event::Enqueue`] comes out exactly once: by [`Action::Run`] and then [`Event::Finished`], by [`Action::Run`] and
//! then [`Action::Lost`], or by [`Action::Reject`].
//!
//! ```text
//!  Enqueue ──► queue (levels, time-outs, bound) ──► batch or direct ──► placement ──► Run
//!                 │                                 how many, now or     which          │
//!                 └─► Reject                        when                 instance       ├─► (Finished)
//!                                                                                       └─► Lost
//! ```
//!
//! The parts are one file each: [`policy`] is the configuration; `queue` holds those who wait and knows nothing of
//! batches; `batch` and `direct` look at the queue's order and say how many of its first requests to take; `placement`
//! knows which instance has room, and [`pipeline`] how many batches make it full. `scheduler` connects them and is the only one that knows all.
//!
//! Sequence batching and ordered responses are deliberately not here yet. A sequence batcher will be one more way to
//! choose from the queue with a say in the placement; ordering concerns responses, which the scheduler never sees.

mod batch;
mod direct;
pub mod pipeline;
mod placement;
pub mod policy;
mod queue;
mod scheduler;
mod tickets;

use std::sync::Arc;

pub use policy::{BatchPolicy, LevelPolicy, QueuePolicy, SchedulerConfig, Strategy, TimeoutAction};
pub use scheduler::Scheduler;
pub use tickets::TicketHasher;

use crate::error::ServeError;
use crate::ids::{BatchId, InstanceId, Ticket};
use crate::time::Duration;

/// All that a scheduler may know of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedRequest {
    /// Unique: a ticket that the scheduler still holds is not taken a second time.
    pub ticket: Ticket,
    /// Rows, 1 for a model without batching. Zero counts as 1.
    pub batch_size: u32,
    /// Requests with different keys never share a batch.
    pub shape_key: u64,
    /// 0: the default level.
    pub priority: u64,
    /// How long it may wait, if the policy lets requests say so. Zero is the same as none.
    pub timeout: Option<Duration>,
}

/// All that can happen to a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was admitted.
    Enqueue(QueuedRequest),
    /// Its client does not want it any more. Ignored when the ticket has ended.
    Cancel(Ticket),
    /// The instance can take `slots` batches at once. If it is up already, only the number of slots changes.
    InstanceUp { instance: InstanceId, slots: u32 },
    /// The instance takes no more work, what it works on may finish.
    InstanceDraining { instance: InstanceId },
    /// The instance is gone, with all that it worked on.
    InstanceDown { instance: InstanceId },
    /// The batch is done, every request in it was answered. Ignored unless that instance runs that batch.
    Finished { instance: InstanceId, batch: BatchId },
    /// No instance will come back by itself: refuse what waits and what arrives, until `Available` or an
    /// `InstanceUp`.
    Unavailable { reason: Arc<str> },
    /// There is hope again: requests may wait for an instance.
    Available,
    /// Take nothing new; finish what is queued and running, then say [`Action::Drained`].
    Stop,
}

/// All that a scheduler asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Give these requests to the instance, in this order. Batch numbers rise in the life of a scheduler.
    Run { instance: InstanceId, batch: BatchId, tickets: Vec<Ticket> },
    /// The request ends without having run.
    Reject { ticket: Ticket, reason: RejectReason },
    /// The request ends because its instance went down while working on it.
    Lost { ticket: Ticket, instance: InstanceId },
    /// Tell the instance that nobody waits for this request; its batch still has to finish.
    CancelRunning { ticket: Ticket, instance: InstanceId },
    /// After [`Event::Stop`]: nothing is queued and nothing runs. Said once.
    Drained,
}

/// Why a request ended without having run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RejectReason {
    /// The queue of its priority level is full.
    QueueFull,
    /// It waited for longer than it may.
    TimedOut,
    /// Its client gave up.
    Cancelled,
    /// The model version is being unloaded or the server shuts down.
    Stopping,
    /// No instance is up and none will come by itself.
    Unavailable(Arc<str>),
}

impl RejectReason {
    /// What the client is told. The texts are Triton's; those of [`Self::has_request_id`] are preceded there by
    /// `[request id: <id>] `, which the caller adds since a scheduler knows no such id.
    #[must_use]
    pub fn to_error(&self) -> ServeError {
        match self {
            Self::QueueFull => ServeError::unavailable("Exceeds maximum queue size"),
            Self::TimedOut => ServeError::unavailable("Request timeout expired"),
            Self::Cancelled => ServeError::cancelled(""),
            Self::Stopping => ServeError::unavailable(
                "Server is stopping, scheduler for model has stopped accepting new inference requests",
            ),
            Self::Unavailable(reason) => ServeError::unavailable(&**reason),
        }
    }

    /// Whether Triton's text starts with the request's id.
    #[must_use]
    pub const fn has_request_id(&self) -> bool {
        matches!(self, Self::QueueFull | Self::Stopping)
    }
}
