//! The one task that owns a model version's scheduler, its pending tickets and its workers' execution channels.
//!
//! Everything reaches it through [`Message`] in a bounded inbox, the scheduler's deadline, or a worker's socket. It
//! decides nothing itself: events go into the core's scheduler, and [`Model::perform`] carries out what comes back.
//! Nothing here blocks; a copy large enough to be felt is made on another thread ([`super::dispatch`]).

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use nereid_core::ids::{BatchId, Generation, InstanceId, Ticket};
use nereid_core::machine::Machine;
use nereid_core::schedule::pipeline::Pipeline;
use nereid_core::schedule::{Action, Event, QueuedRequest, RejectReason, Scheduler};
use nereid_core::time::Duration;
use tokio::sync::{mpsc, oneshot};

use super::alarm::Alarm;
use super::dispatch::{Gathered, InFlight};
use super::reply;
use super::tickets::{IdMap, Pending};
use super::version::VersionShared;
use crate::clock;
use crate::fleet::connection::{Arrival, Connection, ConnectionError};

/// Messages that may wait for a model's task. Beyond it a request is refused at once.
pub const INBOX_MAX: usize = 8192;
/// Messages and packets that are taken in before the scheduler is asked what to do: bounds the delay of either.
const INTAKE_MAX: usize = 128;

/// Requests that a crash report names.
const NAMED_MAX: usize = 32;

/// How long a version has to be idle before its workers' memory is given back.
const IDLE_BEFORE_TRIM: Duration = Duration::from_secs(10);

/// All that can be asked of a model's task.
#[derive(Debug)]
pub enum Message {
    /// A request that was checked against the configuration.
    Infer { ticket: Ticket, queued: QueuedRequest, pending: Box<Pending> },
    /// The client is gone.
    Cancel(Ticket),
    /// A worker has loaded the model.
    InstanceUp(Box<Connection>),
    /// A worker's life has ended, and how. `held` is told which requests it held.
    InstanceDown {
        instance: InstanceId,
        generation: Generation,
        cause: String,
        held: oneshot::Sender<Vec<String>>,
    },
    /// A worker finishes what it has.
    InstanceDraining { instance: InstanceId, generation: Generation },
    /// No instance is left that comes back by itself: nothing is worth waiting for.
    Unavailable(Arc<str>),
    /// There is one again.
    Available,
    /// The inputs of a large batch lie in the arena.
    Gathered(Box<Gathered>),
    /// Finish what was admitted, take nothing new, then end.
    Stop,
}

/// Why the task goes on.
enum Wake {
    Intake,
    Deadline,
    /// Nobody can ask any more.
    Unreachable,
}

/// The state of the task. See the module's text.
#[derive(Debug)]
pub struct Model {
    pub(super) shared: Arc<VersionShared>,
    pub(super) scheduler: Scheduler,
    inbox: mpsc::Receiver<Message>,
    /// For copies that come back from another thread.
    pub(super) self_sender: mpsc::WeakSender<Message>,
    /// By instance number.
    pub(super) connections: Vec<Option<Box<Connection>>>,
    /// By instance number: connections that are of no more use, held until the death of the worker is told.
    condemned: Vec<Option<Box<Connection>>>,
    /// By instance number: how many batches its worker may hold.
    pipelines: Vec<Pipeline>,
    /// By instance number: it takes no more work.
    draining: Vec<bool>,
    pub(super) pending: IdMap<Ticket, Box<Pending>>,
    pub(super) in_flight: IdMap<BatchId, InFlight>,
    /// When memory is given back, should nothing come before.
    trim_at: Option<nereid_core::time::Instant>,
    stopping: bool,
    drained: bool,
}

impl Model {
    /// A task's state, before its first worker is up.
    pub fn new(
        shared: Arc<VersionShared>,
        scheduler: Scheduler,
        inbox: mpsc::Receiver<Message>,
        self_sender: mpsc::WeakSender<Message>,
    ) -> Self {
        let instances = shared.instances.len();
        Self {
            shared,
            scheduler,
            inbox,
            self_sender,
            connections: (0..instances).map(|_| None).collect(),
            condemned: (0..instances).map(|_| None).collect(),
            pipelines: vec![Pipeline::default(); instances],
            draining: vec![false; instances],
            pending: IdMap::default(),
            in_flight: IdMap::default(),
            trim_at: None,
            stopping: false,
            drained: false,
        }
    }

    /// Runs until the version is stopped and drained, or nobody holds a sender any more. Gives the connections back:
    /// a worker whose sockets close exits at once, so they stay open until it has been told to stop.
    pub async fn run(mut self) -> Vec<Option<Box<Connection>>> {
        let mut alarm = Alarm::new();
        while !self.drained {
            let trim_at = self.trim_at.filter(|_| self.scheduler.open() == 0);
            alarm.set(self.scheduler.next_deadline().or(trim_at));
            match poll_fn(|cx| self.poll_intake(cx, &mut alarm)).await {
                Wake::Intake => {}
                Wake::Deadline => self.scheduler.expire(clock::now()),
                Wake::Unreachable => break,
            }
            self.perform();
            self.trim_when_idle();
        }
        self.fail_all("the model was unloaded");
        self.connections
    }

    /// Takes in what has come, a bounded share of it. Ready when something has.
    fn poll_intake(&mut self, cx: &mut Context<'_>, alarm: &mut Alarm) -> Poll<Wake> {
        if alarm.poll(cx).is_ready() {
            return Poll::Ready(Wake::Deadline);
        }
        let mut progress = false;
        for instance in 0..self.connections.len() {
            progress |= self.poll_connection(instance, cx);
        }
        for _ in 0..INTAKE_MAX {
            match self.inbox.poll_recv(cx) {
                Poll::Ready(Some(message)) => {
                    self.take(message);
                    progress = true;
                }
                Poll::Ready(None) => return Poll::Ready(Wake::Unreachable),
                Poll::Pending => break,
            }
        }
        if progress { Poll::Ready(Wake::Intake) } else { Poll::Pending }
    }

    /// After a while without requests, memory goes back.
    fn trim_when_idle(&mut self) {
        if self.scheduler.open() > 0 {
            // To the second is enough; to set a timer for each request would not be.
            let at = clock::now() + IDLE_BEFORE_TRIM;
            if self.trim_at.is_none_or(|set| set + Duration::from_secs(1) < at) {
                self.trim_at = Some(at);
            }
        } else if self.trim_at.is_some_and(|at| at <= clock::now()) {
            self.trim_at = None;
            for index in 0..self.connections.len() {
                if let Some(Err(error)) = self.connections[index].as_mut().map(|connection| connection.trim())
                {
                    self.broken(index, error);
                }
            }
        }
    }

    fn poll_connection(&mut self, instance: usize, cx: &mut Context<'_>) -> bool {
        let mut progress = false;
        for _ in 0..INTAKE_MAX {
            let Some(connection) = self.connections[instance].as_mut() else { break };
            match connection.poll_arrival(cx) {
                Poll::Pending => break,
                Poll::Ready(Ok(arrival)) => self.arrived(instance, arrival),
                Poll::Ready(Err(error)) => self.broken(instance, error),
            }
            progress = true;
        }
        progress
    }

    fn arrived(&mut self, instance: usize, arrival: Arrival) {
        let checked = match arrival {
            Arrival::Executed(executed) => reply::executed(self, instance, executed),
            Arrival::Response(response) => reply::response(self, instance, response),
        };
        if let Err(violation) = checked {
            self.broken(instance, ConnectionError::Violation(violation));
        }
    }

    /// The connection is of no more use. Its tickets end when the kernel has told how the worker ended.
    pub(super) fn broken(&mut self, instance: usize, error: ConnectionError) {
        if let Some(connection) = self.connections[instance].take() {
            connection.report(error);
            // To close the socket now would let the worker exit by itself before it is killed for its fault, and the
            // cause would be lost.
            self.condemned[instance] = Some(connection);
            // No more work for it, before anybody else has noticed.
            self.draining[instance] = true;
            let instance = InstanceId(u32::try_from(instance).unwrap_or(u32::MAX));
            self.scheduler.handle(clock::now(), Event::InstanceDraining { instance });
        }
    }

    fn take(&mut self, message: Message) {
        let now = clock::now();
        match message {
            Message::Infer { ticket, queued, pending } => {
                self.pending.insert(ticket, pending);
                self.scheduler.handle(now, Event::Enqueue(queued));
            }
            Message::Cancel(ticket) => self.scheduler.handle(now, Event::Cancel(ticket)),
            Message::InstanceUp(connection) => {
                let instance = connection.instance;
                self.connections[instance.0 as usize] = Some(connection);
                let pipeline = Pipeline::default();
                self.pipelines[instance.0 as usize] = pipeline;
                self.draining[instance.0 as usize] = false;
                self.scheduler.handle(now, Event::InstanceUp { instance, slots: pipeline.depth() });
            }
            Message::InstanceDown { instance, generation, cause, held } => {
                // Whoever writes the crash report may have given up.
                let _ = held.send(self.held_by(instance));
                self.instance_down(instance, generation, &cause);
            }
            Message::InstanceDraining { instance, .. } => {
                self.draining[instance.0 as usize] = true;
                self.scheduler.handle(now, Event::InstanceDraining { instance });
            }
            Message::Unavailable(reason) => self.scheduler.handle(now, Event::Unavailable { reason }),
            Message::Available => self.scheduler.handle(now, Event::Available),
            Message::Gathered(gathered) => self.send_gathered(*gathered),
            Message::Stop => {
                self.stopping = true;
                self.scheduler.handle(now, Event::Stop);
            }
        }
    }

    /// The requests that an instance's worker holds, by their clients' names where they have one; the oldest first.
    fn held_by(&self, instance: InstanceId) -> Vec<String> {
        let mut batches: Vec<_> =
            self.in_flight.iter().filter(|(_, batch)| batch.instance == instance).collect();
        batches.sort_unstable_by_key(|(id, _)| **id);
        let tickets = batches.iter().flat_map(|(_, batch)| &batch.tickets).take(NAMED_MAX);
        let name = |ticket: &Ticket| match self.pending.get(ticket).map(|pending| pending.request.id.as_str())
        {
            Some(id) if !id.is_empty() => id.to_owned(),
            Some(_) | None => ticket.to_string(),
        };
        tickets.map(name).collect()
    }

    fn instance_down(&mut self, instance: InstanceId, generation: Generation, cause: &str) {
        let slot = &mut self.connections[instance.0 as usize];
        if slot.as_ref().is_some_and(|connection| connection.generation != generation) {
            return;
        }
        *slot = None;
        self.condemned[instance.0 as usize] = None;
        // Their inputs lay in memory that goes with the worker.
        self.in_flight.retain(|_, batch| batch.instance != instance);
        self.scheduler.handle(clock::now(), Event::InstanceDown { instance });
        // The actions that follow are about this death, so they are performed while its cause is known.
        self.perform_with(Some(cause));
    }

    /// Carries out what the scheduler asks for.
    pub(super) fn perform(&mut self) {
        self.perform_with(None);
    }

    fn perform_with(&mut self, cause: Option<&str>) {
        while let Some(action) = self.scheduler.poll() {
            match action {
                Action::Run { instance, batch, tickets } => self.dispatch(instance, batch, tickets),
                Action::Reject { ticket, reason } => self.reject(ticket, &reason),
                Action::Lost { ticket, instance } => self.lost(ticket, instance, cause),
                Action::CancelRunning { ticket, instance } => self.cancel_running(ticket, instance),
                Action::Drained => self.drained = self.stopping,
            }
        }
        self.shared.queued.store(self.scheduler.queued(), Ordering::Relaxed);
    }

    /// A batch is done, and took the worker that long.
    pub(super) fn finished(&mut self, instance: InstanceId, batch: BatchId, worked: Duration) {
        let now = clock::now();
        let index = instance.0 as usize;
        self.scheduler.handle(now, Event::Finished { instance, batch });
        let idle = !self.in_flight.values().any(|batch| batch.instance == instance);
        if let Some(connection) = self.connections[index].as_mut()
            && connection.is_crowded()
            && idle
            && let Err(error) = connection.trim()
        {
            self.broken(index, error);
        }
        // A worker that is going must not be taken for one that came.
        if self.connections[index].is_some()
            && !self.draining[index]
            && let Some(slots) = self.pipelines[index].observe(worked)
        {
            self.scheduler.handle(now, Event::InstanceUp { instance, slots });
        }
    }

    /// The worker gets its next batch when it has ended all that it holds.
    pub(super) fn one_at_a_time(&mut self, instance: InstanceId) {
        let pipeline = Pipeline::default();
        self.pipelines[instance.0 as usize] = pipeline;
        if !self.draining[instance.0 as usize] {
            self.scheduler.handle(clock::now(), Event::InstanceUp { instance, slots: pipeline.depth() });
        }
    }

    fn cancel_running(&mut self, ticket: Ticket, instance: InstanceId) {
        let index = instance.0 as usize;
        if let Some(connection) = self.connections[index].as_mut()
            && let Err(error) = connection.cancel(ticket.0)
        {
            self.broken(index, error);
        }
    }

    pub(super) fn reject(&mut self, ticket: Ticket, reason: &RejectReason) {
        if let Some(pending) = self.pending.remove(&ticket) {
            reply::reject(&self.shared, *pending, reason);
        }
    }

    fn lost(&mut self, ticket: Ticket, instance: InstanceId, cause: Option<&str>) {
        if let Some(pending) = self.pending.remove(&ticket) {
            let name = self.shared.instance_name(instance);
            reply::lost(&self.shared, *pending, name, cause.unwrap_or("its worker ended"));
        }
    }

    fn fail_all(&mut self, why: &str) {
        for (_, pending) in self.pending.drain() {
            reply::abandoned(&self.shared, *pending, why);
        }
    }
}
