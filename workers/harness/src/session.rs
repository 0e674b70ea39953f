//! The worker's end of both sockets: receives frames, keeps those whose turn has not come, sends answers.
//!
//! One thread does all of it, but for heartbeats. While a batch runs, the sockets are read only when the batch itself waits or asks; what
//! does not concern it then queues here, within bounds. Deliberately not here: what a batch or an order does.

mod space;

use crate::{
    end::End,
    error::WorkerError,
    heartbeat::Heart,
    identity::Identity,
    memory::Memory,
    progress::Progress,
    text::cut,
    waiting::{Arrival, Waiter},
};
use nereid_ipc::{Channel, IpcError, Received, envelope::Envelope};
use nereid_proto::worker::{
    ControlToSupervisor, ControlToWorker, Execute, ExecutionToSupervisor, ExecutionToWorker, LastWords,
    add_segment::Direction, control_to_supervisor, control_to_worker, execution_to_supervisor,
    execution_to_worker,
};
use std::{
    collections::VecDeque,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

/// The most batches, and the most orders, that may wait for the running batch. A supervisor sends far fewer.
pub(crate) const BACKLOG_MAX: usize = 64;
/// However busy the execution socket is, the control socket is looked at so often.
const CONTROL_PERIOD: Duration = Duration::from_millis(10);

/// What to do next.
#[derive(Debug)]
pub(crate) enum Work {
    /// Boxed, since a model's configuration is large and batches pass through here, too.
    Order(Box<control_to_worker::Message>),
    Batch(Execute),
}

/// An answer after it was sent, or was found to be larger than the supervisor takes.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Otherwise nothing was sent.
    pub(crate) fits: bool,
    pub(crate) message: Option<execution_to_supervisor::Message>,
}

/// Both sockets and all that was received over them.
#[derive(Debug)]
pub(crate) struct Session {
    identity: Identity,
    control: Channel,
    execution: Channel,
    waiter: Waiter,
    pub(crate) memory: Memory,
    pub(crate) progress: Progress,
    /// None until the supervisor asked for heartbeats.
    heart: Option<Heart>,
    orders: VecDeque<Box<control_to_worker::Message>>,
    batches: VecDeque<Execute>,
    /// Tickets of the running batch.
    running: Vec<u64>,
    /// Those among the running and the waiting that were cancelled.
    cancelled: Vec<u64>,
    control_seen: Instant,
    /// Set once, within a batch; the loop leaves at its end.
    ended: Option<End>,
}

impl Session {
    pub(crate) fn new(generation: u64, control: Channel, execution: Channel, waiter: Waiter) -> Self {
        Self {
            identity: Identity::new(generation),
            control,
            execution,
            waiter,
            memory: Memory::default(),
            progress: Progress::default(),
            heart: None,
            orders: VecDeque::new(),
            batches: VecDeque::new(),
            running: Vec::new(),
            cancelled: Vec::new(),
            control_seen: Instant::now(),
            ended: None,
        }
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn control(&self) -> &Channel {
        &self.control
    }

    pub(crate) fn execution(&self) -> &Channel {
        &self.execution
    }

    /// Sends heartbeats from now on, if `interval` is not 0.
    pub(crate) fn start_heart(&mut self, interval: Duration) -> Result<(), End> {
        if !interval.is_zero() {
            let progress = self.progress.clone();
            self.heart = Some(Heart::start(&self.control, self.identity.generation(), progress, interval)?);
        }
        Ok(())
    }

    // --- What to do next ---

    /// Waits for work. The execution socket comes first, since a batch is what somebody waits for.
    pub(crate) fn next(&mut self) -> Result<Work, End> {
        loop {
            if let Some(order) = self.orders.pop_front() {
                return Ok(Work::Order(order));
            }
            if let Some(batch) = self.batches.pop_front() {
                return Ok(Work::Batch(batch));
            }
            if self.control_seen.elapsed() >= CONTROL_PERIOD {
                self.receive_control()?;
            } else if !self.receive_execution()? {
                self.wait(None)?;
            }
        }
    }

    /// A batch that has been received by now; none means that nothing waits any more.
    pub(crate) fn next_received_batch(&mut self) -> Result<Option<Execute>, End> {
        while self.batches.is_empty() && self.receive_execution()? {}
        Ok(self.batches.pop_front())
    }

    /// Waits until something was received, or the time is over; then false.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> Result<bool, End> {
        match self.waiter.wait(&self.control, &mut self.execution, timeout)? {
            Arrival::Nothing => return Ok(false),
            Arrival::Execution(received) => self.take_execution(received)?,
            Arrival::Readable { control, execution } => {
                if execution {
                    self.receive_execution()?;
                }
                if control {
                    self.receive_control()?;
                }
            }
        }
        Ok(true)
    }

    /// Takes in all that has arrived for the running batch, without waiting.
    pub(crate) fn catch_up(&mut self) -> Result<(), End> {
        while self.receive_execution()? {}
        Ok(())
    }

    // --- Receiving ---

    fn receive_control(&mut self) -> Result<(), End> {
        self.control_seen = Instant::now();
        let Some(received) = self.control.try_recv::<ControlToWorker>()? else { return Ok(()) };
        self.identity.learn(received.message.generation);
        received.message.check_generation(self.identity.generation())?;
        refuse_fd(received.fd)?;
        match received.message.message.ok_or_else(|| End::broken("an empty control message"))? {
            control_to_worker::Message::Ping(ping) => {
                let pong = self.progress.pong(ping.nonce);
                self.tell(control_to_supervisor::Message::Pong(pong))
            }
            order => push(&mut self.orders, Box::new(order), "control messages"),
        }
    }

    fn receive_execution(&mut self) -> Result<bool, End> {
        let Some(received) = self.execution.try_recv()? else { return Ok(false) };
        self.take_execution(received)?;
        Ok(true)
    }

    fn take_execution(&mut self, received: Received<ExecutionToWorker>) -> Result<(), End> {
        use execution_to_worker::Message;
        let Received { message: frame, fd } = received;
        frame.check_generation(self.identity.generation())?;
        match frame.message.ok_or_else(|| End::broken("an empty execution message"))? {
            Message::AddSegment(add) => {
                let fd = fd.ok_or_else(|| End::broken("a segment without its fd"))?;
                let direction = Direction::try_from(add.direction)
                    .map_err(|_| End::broken(format!("{} is no direction of a segment", add.direction)))?;
                return self.memory.add(direction, add.segment, fd, add.length);
            }
            Message::Execute(mut execute) => {
                self.memory.release(&execute.released)?;
                execute.released = Vec::new();
                push(&mut self.batches, execute, "batches")?;
            }
            Message::Release(release) => self.memory.release(&release.slots)?,
            Message::RemoveSegment(remove) => self.memory.remove(&remove)?,
            Message::SegmentRefused(refused) => self.memory.refuse(refused),
            Message::Cancel(cancel) => self.note_cancel(cancel.ticket),
        }
        refuse_fd(fd)
    }

    // --- Cancellation ---

    /// A cancel that comes after the answer is ordinary, and forgotten.
    fn note_cancel(&mut self, ticket: u64) {
        let mut waiting = self.batches.iter().flat_map(|batch| &batch.requests).map(|request| request.ticket);
        let known = self.running.contains(&ticket) || waiting.any(|one| one == ticket);
        if known && !self.cancelled.contains(&ticket) {
            self.cancelled.push(ticket);
        }
    }

    pub(crate) fn is_cancelled(&self, ticket: u64) -> bool {
        self.cancelled.contains(&ticket)
    }

    pub(crate) fn begin(&mut self, now: Instant, tickets: impl Iterator<Item = u64>) {
        self.progress.begin(now);
        self.running.extend(tickets);
    }

    pub(crate) fn end(&mut self) {
        self.progress.end();
        if !self.cancelled.is_empty() {
            let running = &self.running;
            self.cancelled.retain(|ticket| !running.contains(ticket));
        }
        self.running.clear();
    }

    // --- Sending ---

    pub(crate) fn tell(&mut self, message: control_to_supervisor::Message) -> Result<(), End> {
        let frame = ControlToSupervisor { generation: self.identity.generation(), message: Some(message) };
        Ok(self.waiter.send(&mut self.control, &frame)?)
    }

    /// Sends an answer and gives it back, so that its vectors can be used again.
    pub(crate) fn answer(&mut self, message: execution_to_supervisor::Message) -> Result<Sent, End> {
        let frame = ExecutionToSupervisor { generation: self.identity.generation(), message: Some(message) };
        match self.waiter.send(&mut self.execution, &frame) {
            Ok(()) => Ok(Sent { fits: true, message: frame.message }),
            Err(IpcError::TooLarge { .. }) => Ok(Sent { fits: false, message: frame.message }),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends whatever it is: the way for tests of what the supervisor makes of a lie.
    pub(crate) fn send_raw(&mut self, frame: &ExecutionToSupervisor) -> Result<(), End> {
        Ok(self.waiter.send(&mut self.execution, frame)?)
    }

    /// The cause for the crash report. Nothing is waited for: the exit may not depend on a supervisor that reads.
    pub(crate) fn say_last_words(&mut self, message: String) {
        let message = control_to_supervisor::Message::LastWords(LastWords { message: cut(message) });
        let frame = ControlToSupervisor { generation: self.identity.generation(), message: Some(message) };
        // The exit code still tells the kind of the failure.
        let _sent = self.control.try_send(&frame, None);
    }

    // --- An end within a batch ---

    pub(crate) fn ended(&self) -> Option<&End> {
        self.ended.as_ref()
    }

    /// Once the session is over, a backend gets an error for whatever it asks, and returns.
    pub(crate) fn check_alive(&self) -> Result<(), WorkerError> {
        if self.ended.is_some() { Err(over()) } else { Ok(()) }
    }

    /// Does something on behalf of a backend: an end of the session is remembered, and an error for the backend.
    pub(crate) fn within<R>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<R, End>,
    ) -> Result<R, WorkerError> {
        self.check_alive()?;
        action(self).map_err(|end| {
            self.ended = Some(end);
            over()
        })
    }
}

fn over() -> WorkerError {
    WorkerError::unavailable("the worker is about to exit")
}

fn push<T>(queue: &mut VecDeque<T>, item: T, what: &str) -> Result<(), End> {
    if queue.len() >= BACKLOG_MAX {
        return Err(End::broken(format!("more than {BACKLOG_MAX} {what} wait for the running batch")));
    }
    queue.push_back(item);
    Ok(())
}

fn refuse_fd(fd: Option<OwnedFd>) -> Result<(), End> {
    if fd.is_some() { Err(End::broken("an fd that belongs to no segment")) } else { Ok(()) }
}
