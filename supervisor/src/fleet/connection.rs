//! One incarnation's execution channel with its arenas: what a model's task holds of a living worker.
//!
//! It checks what comes in before anybody believes it: the generation, the batch, the place of every tensor. It does
//! not know requests; the model's task does.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use nereid_core::ids::{Generation, InstanceId};
use nereid_core::time::Instant;
use nereid_ipc::arena::{ArenaError, InputArena, Lease, NewSegment, OutputReader};
use nereid_ipc::channel::AsyncChannel;
use nereid_ipc::error::IpcError;
use nereid_proto::worker::add_segment::Direction;
use nereid_proto::worker::{
    Cancel, Execute, Executed, ExecutionToSupervisor, ExecutionToWorker, Release, RemoveSegment, Response,
    SegmentRefused, execution_to_supervisor as from_worker, execution_to_worker as to_worker,
};
use tokio::sync::mpsc;

/// Packets that may wait because the worker does not read. A worker that leaves this many unread has a fault of its
/// own: it is given a batch only when it has a free slot.
const UNSENT_PACKETS_MAX: usize = 256;
/// Output slots that are given back without waiting for the next batch to carry them.
const RETURNS_WAITING_MAX: usize = 64;

/// Shared memory of each direction that an idle worker keeps, so that its next request finds it warm.
const IDLE_BYTES_KEPT: u64 = 4 * 1024 * 1024;

/// What an instance's task is told.
#[derive(Debug)]
pub enum Order {
    /// The worker broke the protocol: end it. The reason follows "because it".
    Kill { generation: Generation, reason: String },
    /// The worker closed its execution socket.
    Disconnected { generation: Generation },
    /// It does not get on with its work: end it, as one that hangs. The reason follows the worker's name: "did not
    /// finish a request within 2 s". `requests`: the ids of those that it was at.
    Unresponsive { generation: Generation, reason: String, requests: Vec<String> },
    /// What it works on, or no longer works on, is under suspicion of ending workers: a death meanwhile is not its own
    /// fault.
    OnTrial { generation: Generation, on: bool },
    /// End for good.
    Stop { deadline: Instant },
}

/// What came from the worker, for the model's task.
#[derive(Debug)]
pub enum Arrival {
    Executed(Executed),
    Response(Response),
}

/// Why something could not be said to a worker, or heard of it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The worker's end is closed: its death will be told by the kernel.
    #[error("the worker closed its execution socket")]
    Closed,
    /// The worker broke the protocol and is to be ended. The words follow "because it".
    #[error("{0}")]
    Violation(String),
    /// What was to be said is too large; the worker has no part in it.
    #[error("{length} bytes are needed to describe the batch to its worker, more than the {limit} that fit")]
    TooLarge { length: usize, limit: usize },
    /// The server itself lacks something, such as file descriptors; the worker has no part in it.
    #[error("{0}")]
    Local(String),
}

/// Output slots on their way back to the worker, from whichever task finished with them.
#[derive(Debug, Default)]
pub struct Returns {
    /// Bytes of output memory that are on their way to the network.
    pinned: AtomicU64,
    inner: Mutex<ReturnsInner>,
}

#[derive(Debug, Default)]
struct ReturnsInner {
    slots: Vec<u64>,
    waker: Option<Waker>,
}

impl Returns {
    /// Leaves `bytes` in place until they are unpinned, unless that would pin more than `max`.
    #[must_use]
    pub fn pin(&self, bytes: u64, max: u64) -> bool {
        self.pinned
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |pinned| {
                pinned.checked_add(bytes).filter(|&sum| sum <= max)
            })
            .is_ok()
    }

    /// The network has taken `bytes`.
    pub fn unpin(&self, bytes: u64) {
        self.pinned.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Gives a slot back.
    pub fn push(&self, slot: u64) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.slots.push(slot);
        // The next batch carries them; only a long list is worth waking the task.
        if inner.slots.len() >= RETURNS_WAITING_MAX
            && let Some(waker) = inner.waker.take()
        {
            waker.wake();
        }
    }

    /// They did not reach the worker after all.
    fn put_back(&self, slots: Vec<u64>) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).slots.extend(slots);
    }

    fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner).slots)
    }

    fn take_many(&self, cx: &Context<'_>) -> Vec<u64> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.waker = Some(cx.waker().clone());
        if inner.slots.len() >= RETURNS_WAITING_MAX { std::mem::take(&mut inner.slots) } else { Vec::new() }
    }
}

/// See the module's text.
#[derive(Debug)]
pub struct Connection {
    pub instance: InstanceId,
    pub generation: Generation,
    channel: AsyncChannel,
    inputs: InputArena,
    outputs: OutputReader,
    arena_bytes_max: u64,
    returns: Arc<Returns>,
    unsent: VecDeque<(ExecutionToWorker, Option<OwnedFd>)>,
    orders: mpsc::Sender<Order>,
}

impl Connection {
    pub fn new(
        instance: InstanceId,
        generation: Generation,
        channel: AsyncChannel,
        arena_bytes_max: u64,
        orders: mpsc::Sender<Order>,
    ) -> Self {
        Self {
            instance,
            generation,
            channel,
            inputs: InputArena::new(arena_bytes_max),
            outputs: OutputReader::new(arena_bytes_max),
            arena_bytes_max,
            returns: Arc::default(),
            unsent: VecDeque::new(),
            orders,
        }
    }

    /// The next message that concerns requests; memory matters are settled here.
    pub fn poll_arrival(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arrival, ConnectionError>> {
        self.flush(cx)?;
        self.give_back(cx)?;
        loop {
            let received = match self.channel.poll_recv::<ExecutionToSupervisor>(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(received)) => received,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
            };
            let ExecutionToSupervisor { generation, message } = received.message;
            if generation != self.generation.0 {
                return Poll::Ready(Err(ConnectionError::Violation(format!(
                    "sent a message of generation {generation} from generation {}",
                    self.generation
                ))));
            }
            match message {
                Some(from_worker::Message::Executed(executed)) => {
                    return Poll::Ready(Ok(Arrival::Executed(executed)));
                }
                Some(from_worker::Message::Response(response)) => {
                    return Poll::Ready(Ok(Arrival::Response(response)));
                }
                Some(from_worker::Message::NeedSegment(need)) => self.answer_need(need.length)?,
                None => {
                    return Poll::Ready(Err(ConnectionError::Violation("sent an empty message".to_owned())));
                }
            }
        }
    }

    /// Memory for the inputs of a batch. A segment that it needs is announced before the batch that uses it.
    pub fn lease(&mut self, length: u64) -> Result<Lease, LeaseError> {
        let leased = match self.inputs.lease(length) {
            // Segments that are too small for this batch may be what fills the arena.
            Err(ArenaError::LimitReached { .. }) => {
                self.trim_inputs()?;
                self.inputs.lease(length)
            }
            leased => leased,
        };
        let (lease, added) = leased?;
        if let Some(segment) = added {
            self.add_segment(segment)?;
        }
        Ok(lease)
    }

    /// Hands a batch to the worker.
    pub fn execute(&mut self, mut execute: Execute) -> Result<(), ConnectionError> {
        execute.released = self.returns.take();
        let released = execute.released.clone();
        let sent = self.send(to_worker::Message::Execute(execute), None);
        if sent.is_err() {
            self.returns.put_back(released);
        }
        sent
    }

    /// Tells the worker that nobody waits for this ticket any more.
    pub fn cancel(&mut self, ticket: u64) -> Result<(), ConnectionError> {
        self.send(to_worker::Message::Cancel(Cancel { ticket }), None)
    }

    /// Gives memory back that an idle worker does not need. Only to be called while it has no batch.
    pub fn trim(&mut self) -> Result<(), ConnectionError> {
        let slots = self.returns.take();
        if !slots.is_empty() {
            self.send(to_worker::Message::Release(Release { slots }), None)?;
        }
        if self.inputs.mapped_bytes() > IDLE_BYTES_KEPT {
            self.trim_inputs()?;
        }
        // While the network still reads an output, the worker may not be told that its slot's segment is gone.
        if self.outputs.mapped_bytes() > IDLE_BYTES_KEPT && self.returns.pinned.load(Ordering::Relaxed) == 0 {
            for segment in self.outputs.trim() {
                self.remove_segment(segment, Direction::Output)?;
            }
        }
        Ok(())
    }

    /// Whether the outputs of the past fill so much of the arena that a larger one may find no room. To be asked, and
    /// answered by [`Self::trim`], while the worker has no batch: later it is too late.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.outputs.mapped_bytes() > self.arena_bytes_max / 2
    }

    fn trim_inputs(&mut self) -> Result<(), ConnectionError> {
        for segment in self.inputs.trim() {
            self.remove_segment(segment, Direction::Input)?;
        }
        Ok(())
    }

    fn remove_segment(&mut self, segment: u32, direction: Direction) -> Result<(), ConnectionError> {
        let message = RemoveSegment { segment, direction: direction.into() };
        self.send(to_worker::Message::RemoveSegment(message), None)
    }

    /// Reads the worker's output descriptors.
    #[must_use]
    pub fn outputs(&self) -> &OutputReader {
        &self.outputs
    }

    /// How many bytes of output memory slow clients may pin; beyond it, outputs are copied out, so that the worker
    /// always finds room for its next ones.
    #[must_use]
    pub fn pinned_max(&self) -> u64 {
        self.arena_bytes_max / 2
    }

    /// Where output slots are given back.
    #[must_use]
    pub fn returns(&self) -> &Arc<Returns> {
        &self.returns
    }

    /// Tells the instance's task that the connection is of no more use.
    pub fn report(&self, error: ConnectionError) {
        let generation = self.generation;
        let order = match error {
            ConnectionError::Closed => Order::Disconnected { generation },
            ConnectionError::Violation(reason) => Order::Kill { generation, reason },
            error @ (ConnectionError::TooLarge { .. } | ConnectionError::Local(_)) => {
                Order::Kill { generation, reason: format!("cannot be spoken to: {error}") }
            }
        };
        // A full channel holds such an order for this worker already.
        let _ = self.orders.try_send(order);
    }

    fn answer_need(&mut self, length: u64) -> Result<(), ConnectionError> {
        match self.outputs.new_segment(length) {
            Ok(segment) => self.add_segment(segment),
            Err(ArenaError::LimitReached { limit, .. }) => {
                // What is on its way back may be enough; if nothing is, the worker has to know.
                let slots = self.returns.take();
                if slots.is_empty() {
                    self.send(to_worker::Message::SegmentRefused(SegmentRefused { length, limit }), None)
                } else {
                    self.send(to_worker::Message::Release(Release { slots }), None)
                }
            }
            // The request that needs it fails, and nothing else does.
            Err(error) => {
                tracing::error!("no output memory of {length} bytes: {error}");
                let limit = self.outputs.mapped_bytes();
                self.send(to_worker::Message::SegmentRefused(SegmentRefused { length, limit }), None)
            }
        }
    }

    fn add_segment(&mut self, segment: NewSegment) -> Result<(), ConnectionError> {
        self.send(to_worker::Message::AddSegment(segment.message()), Some(segment.fd))
    }

    fn give_back(&mut self, cx: &Context<'_>) -> Result<(), ConnectionError> {
        let slots = self.returns.take_many(cx);
        if slots.is_empty() {
            return Ok(());
        }
        self.send(to_worker::Message::Release(Release { slots }), None)
    }

    fn send(&mut self, message: to_worker::Message, fd: Option<OwnedFd>) -> Result<(), ConnectionError> {
        let envelope = ExecutionToWorker { generation: self.generation.0, message: Some(message) };
        if self.unsent.is_empty() {
            match self.channel.try_send(&envelope, fd.as_ref().map(AsFd::as_fd)) {
                Ok(()) => return Ok(()),
                Err(IpcError::Full) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.unsent.len() == UNSENT_PACKETS_MAX {
            return Err(ConnectionError::Violation(format!("left {UNSENT_PACKETS_MAX} packets unread")));
        }
        self.unsent.push_back((envelope, fd));
        Ok(())
    }

    fn flush(&mut self, cx: &mut Context<'_>) -> Result<(), ConnectionError> {
        while let Some((envelope, fd)) = self.unsent.front() {
            if self.channel.poll_writable(cx)?.is_pending() {
                return Ok(());
            }
            match self.channel.try_send(envelope, fd.as_ref().map(AsFd::as_fd)) {
                Ok(()) => drop(self.unsent.pop_front()),
                Err(IpcError::Full) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Why a batch's inputs found no place.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error(transparent)]
    Arena(#[from] ArenaError),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

impl From<IpcError> for ConnectionError {
    fn from(error: IpcError) -> Self {
        match error {
            IpcError::Closed => Self::Closed,
            IpcError::TooLarge { length, limit } => Self::TooLarge { length, limit },
            error @ IpcError::Malformed(_) => Self::Violation(format!("sent a bad packet: {error}")),
            error => Self::Local(error.to_string()),
        }
    }
}
