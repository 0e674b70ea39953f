//! The task of one instance: it drives the core's lifecycle machine and owns the process, the control socket and the
//! timer. It performs; what to do when is the machine's decision.

mod telling;

use std::future::Future;
use std::os::unix::process::ExitStatusExt;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::Arc;

use nereid_core::config::InstanceSpec;
use nereid_core::ids::{Generation, InstanceId};
use nereid_core::lifecycle::ExitCause;
use nereid_core::lifecycle::instance::{Action, Event, Instance, InstanceConfig};
use nereid_core::machine::Machine;
use nereid_core::time::Instant;
use nereid_ipc::channel::{AsyncChannel, Received};
use nereid_ipc::error::IpcError;
use nereid_ipc::sys::worker_process::WorkerProcess;
use nereid_proto::worker::{ControlToSupervisor, ControlToWorker, Description, Model};
use nix::sys::signal::Signal;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::connection::Order;
use super::exec::{Program, SpawnError, Spawned, Spawner};
use super::handshake::{self, Word};
use super::life::{self, Life};
use super::logs::Origin;
use super::status::StatusCell;
use crate::clock;
use crate::observe::crashes::Crashes;
use crate::observe::events::{Events, Severity};
use crate::serve::model::Message;

/// Orders that may wait for an instance's task.
pub const ORDERS_MAX: usize = 64;

/// The completed version, once there is one: what every instance of it loads, and where its task is.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// All but the instance's own fields.
    pub model: Arc<Model>,
    pub inbox: mpsc::Sender<Message>,
}

/// What the tasks of a version tell the version's own.
#[derive(Debug)]
pub enum Report {
    /// The first worker's answer to what the model is.
    Described(Box<Description>),
    Starting(InstanceId),
    Up(InstanceId),
    Down(InstanceId),
    LoadFailed {
        instance: InstanceId,
        reason: String,
    },
    /// It does not come back by itself.
    Failed {
        instance: InstanceId,
        reason: String,
    },
    /// `killed`: it did not end by itself when it was asked to.
    Stopped {
        instance: InstanceId,
        killed: bool,
    },
    /// From the scheduler's task: nothing is left of its requests.
    Drained,
}

/// What an instance is made of.
#[derive(Debug)]
pub struct Setup {
    pub number: InstanceId,
    pub spec: InstanceSpec,
    pub spawner: Spawner,
    pub program: Program,
    /// What the worker is asked to describe: the configuration before completion.
    pub described: Arc<Model>,
    pub config: InstanceConfig,
    pub arena_bytes_max: u64,
    pub status: Arc<StatusCell>,
    pub prepared: watch::Receiver<Option<Prepared>>,
    pub reports: mpsc::Sender<Report>,
    pub events: Arc<Events>,
    pub crashes: Arc<Crashes>,
}

type Starting = Pin<Box<dyn Future<Output = Result<Spawned, SpawnError>> + Send + Sync>>;

struct Task {
    setup: Setup,
    machine: Instance,
    orders: mpsc::Receiver<Order>,
    order_sender: mpsc::Sender<Order>,
    starting: Option<Starting>,
    life: Option<Life>,
    /// What a process that is still being started will get at once.
    signal_at_birth: Option<Signal>,
    /// The machine wants to load, and the version is not complete yet.
    load_waits: bool,
    describe_waits: bool,
    /// The instance was told to stop for good.
    stop_asked: bool,
    /// The worker had to be killed for that.
    killed: bool,
    /// The last one that is still being written.
    crash_report: Option<JoinHandle<String>>,
    /// Will tell which requests the worker held that was announced to be down.
    held: Option<oneshot::Receiver<Vec<String>>>,
    stopped: bool,
}

/// What the task waits for.
#[expect(clippy::large_enum_variant, reason = "one at a time, never stored")]
enum Happening {
    Order(Option<Order>),
    Spawned(Result<Spawned, SpawnError>),
    Heard(Result<Received<ControlToSupervisor>, IpcError>),
    Exited(std::io::Result<ExitStatus>),
    Prepared,
    QuietEnds,
    Deadline,
}

/// Runs an instance until it is told to stop and nothing of it is left.
pub async fn run(setup: Setup, orders: mpsc::Receiver<Order>, order_sender: mpsc::Sender<Order>) {
    let mut task = Task {
        machine: Instance::new(setup.config.clone()),
        setup,
        orders,
        order_sender,
        starting: None,
        life: None,
        signal_at_birth: None,
        load_waits: false,
        describe_waits: false,
        stop_asked: false,
        killed: false,
        crash_report: None,
        held: None,
        stopped: false,
    };
    task.machine.handle(clock::now(), Event::Start);
    task.perform().await;
    while !task.stopped {
        let happening = task.wait().await;
        task.happened(happening);
        task.perform().await;
    }
}

impl Task {
    async fn wait(&mut self) -> Happening {
        let Self { orders, starting, life, setup, machine, load_waits, describe_waits, .. } = self;
        let deadline = machine.next_deadline();
        let (control, process, quiet_until) = match life {
            Some(Life { control, process, quiet_until, .. }) => {
                (control.as_mut().filter(|_| quiet_until.is_none()), Some(process), *quiet_until)
            }
            None => (None, None, None),
        };
        // A worker that talks without end may keep neither an order nor a deadline waiting; what it said before it exited
        // is heard before its exit.
        tokio::select! {
            biased;
            () = clock::until(deadline) => Happening::Deadline,
            order = orders.recv() => Happening::Order(order),
            spawned = or_never(starting.as_mut()) => Happening::Spawned(spawned),
            Ok(()) = setup.prepared.changed(), if *load_waits || *describe_waits => Happening::Prepared,
            () = clock::until(quiet_until) => Happening::QuietEnds,
            heard = or_never(control.map(AsyncChannel::recv)) => Happening::Heard(heard),
            status = or_never(process.map(WorkerProcess::exited)) => Happening::Exited(status),
        }
    }

    fn happened(&mut self, happening: Happening) {
        let now = clock::now();
        let generation = self.machine.generation();
        match happening {
            Happening::Order(Some(Order::Kill { generation, reason })) => {
                self.machine.handle(now, Event::Misbehaved { generation, what: reason });
            }
            Happening::Order(Some(Order::Disconnected { generation })) => {
                self.machine.handle(now, Event::Disconnected { generation });
            }
            Happening::Order(Some(Order::Unresponsive { generation, reason, .. })) => {
                self.machine.handle(now, Event::Condemn { generation, reason });
            }
            Happening::Order(Some(Order::OnTrial { .. })) => {}
            Happening::Order(Some(Order::Stop { deadline })) => {
                self.stop_asked = true;
                self.machine.handle(now, Event::Stop { deadline });
            }
            // Its own sender keeps the channel open.
            Happening::Order(None) => self.machine.handle(now, Event::Stop { deadline: now }),
            Happening::Spawned(spawned) => self.spawned(now, generation, spawned),
            Happening::Heard(heard) => self.heard(now, generation, heard),
            Happening::QuietEnds => {
                if let Some(life) = &mut self.life {
                    life.quiet_until = None;
                }
            }
            Happening::Exited(_) if self.life.as_mut().is_some_and(Life::has_more_to_hear) => {}
            Happening::Exited(status) => self.exited(now, generation, status),
            Happening::Prepared => self.prepared(now, generation),
            Happening::Deadline => self.machine.expire(now),
        }
    }

    fn spawned(&mut self, now: Instant, generation: Generation, spawned: Result<Spawned, SpawnError>) {
        self.starting = None;
        match spawned
            .map_err(|error| error.to_string())
            .and_then(|spawned| Life::begin(spawned, self.origin(generation)))
        {
            Ok(life) => {
                if let Some(signal) = self.signal_at_birth.take() {
                    let _ = life.process.signal_group(signal);
                }
                let pid = life.process.id();
                self.publish(Severity::Info, "worker_started", format!("process {pid}"));
                self.setup.status.update(|status| {
                    status.pid = pid;
                    status.born = Some(std::time::Instant::now());
                });
                self.life = Some(life);
                self.say(now, &handshake::hello(generation));
            }
            Err(error) => self.machine.handle(now, Event::SpawnFailed { generation, error }),
        }
    }

    fn origin(&self, generation: Generation) -> Origin {
        Origin {
            model: self.setup.described.name.clone(),
            instance: self.setup.spec.name.clone(),
            generation: generation.0,
        }
    }

    fn heard(
        &mut self,
        now: Instant,
        generation: Generation,
        heard: Result<Received<ControlToSupervisor>, IpcError>,
    ) {
        let message = match heard {
            Ok(received) => received.message,
            Err(error) => {
                if let Some(life) = &mut self.life {
                    life.control = None;
                }
                let event = match error {
                    IpcError::Closed => Event::Disconnected { generation },
                    error => {
                        Event::Misbehaved { generation, what: format!("sent a bad control packet: {error}") }
                    }
                };
                return self.machine.handle(now, event);
            }
        };
        if let Some(life) = &mut self.life
            && let Err(what) = life.count_packet(now, handshake::is_log(&message))
        {
            return self.machine.handle(now, Event::Misbehaved { generation, what });
        }
        match handshake::understand(generation, message) {
            Word::Event(event) => self.machine.handle(now, event),
            Word::Described(description) => self.described(now, generation, description),
            Word::Log(log) => {
                if handshake::is_wanted(&log) && self.life.as_ref().is_some_and(|life| life.relay.admits()) {
                    handshake::log(&self.setup.described.name, &self.setup.spec.name, &log);
                }
            }
            Word::LastWords(words) => {
                if let Some(life) = &mut self.life {
                    life.last_words = Some(words);
                }
            }
            Word::Nothing => {}
        }
    }

    fn described(&mut self, now: Instant, generation: Generation, description: Box<Description>) {
        if !self.describe_waits {
            let what = "described a model that it was not asked for".to_owned();
            return self.machine.handle(now, Event::Misbehaved { generation, what });
        }
        // The loader reads one such report; its channel has room for it from the start.
        let _ = self.setup.reports.try_send(Report::Described(description));
        self.prepared(now, generation);
    }

    fn exited(&mut self, now: Instant, generation: Generation, status: std::io::Result<ExitStatus>) {
        let mut for_memory = |status| self.life.as_mut().and_then(|life| life.resources.verdict(status));
        let cause = match status {
            Ok(status) => for_memory(status).unwrap_or_else(|| match (status.code(), status.signal()) {
                (Some(code), _) => ExitCause::Code(code),
                (None, Some(signal)) => ExitCause::Signal(signal),
                (None, None) => ExitCause::NotStarted(status.to_string()),
            }),
            Err(error) => ExitCause::KilledBy(format!("its exit status is lost: {error}")),
        };
        self.machine.handle(now, Event::Exited { generation, cause });
    }

    /// The version is complete, or may be: go on with what waits for it.
    fn prepared(&mut self, now: Instant, generation: Generation) {
        let Some(prepared) = self.setup.prepared.borrow().clone() else { return };
        if std::mem::take(&mut self.describe_waits) {
            self.machine.handle(now, Event::Described { generation });
        }
        if std::mem::take(&mut self.load_waits) {
            self.say(now, &handshake::load(generation, &prepared.model, &self.setup.spec));
        }
    }

    /// Says something to the worker. The socket is empty at each of these moments, so a full one is its fault.
    fn say(&mut self, now: Instant, message: &ControlToWorker) {
        let generation = self.machine.generation();
        let Some(control) = self.life.as_mut().and_then(|life| life.control.as_mut()) else { return };
        match control.try_send(message, None) {
            Ok(()) => {}
            Err(IpcError::Closed) => self.machine.handle(now, Event::Disconnected { generation }),
            Err(error) => {
                let what = format!("does not read its control socket: {error}");
                self.machine.handle(now, Event::Misbehaved { generation, what });
            }
        }
    }

    async fn perform(&mut self) {
        while let Some(action) = self.machine.poll() {
            self.act(action).await;
        }
        let (state, generation, restarts) =
            (self.machine.state(), self.machine.generation(), self.machine.restarts());
        self.setup.status.update(|status| {
            status.state = state.as_str();
            status.generation = generation.0;
            status.restarts = restarts;
        });
    }

    async fn act(&mut self, action: Action) {
        let now = clock::now();
        match action {
            Action::Spawn { generation } => {
                self.signal_at_birth = None;
                self.killed = false;
                self.load_waits = false;
                self.describe_waits = false;
                self.report(Report::Starting(self.setup.number)).await;
                self.starting =
                    Some(Box::pin(self.setup.spawner.clone().start(self.setup.program.clone(), generation)));
            }
            Action::SendDescribe { generation } => {
                self.describe_waits = true;
                let message = handshake::describe(generation, &self.setup.described, &self.setup.spec);
                self.say(now, &message);
            }
            Action::SendLoad { generation } => {
                self.load_waits = true;
                self.prepared(now, generation);
            }
            Action::SendStop { generation } => self.say(now, &handshake::stop(generation)),
            Action::Term { .. } => self.signal(Signal::SIGTERM),
            Action::Kill { .. } => {
                self.killed = self.stop_asked;
                self.signal(Signal::SIGKILL);
            }
            Action::Abandon { .. } => self.life = None,
            Action::AnnounceUp { generation } => {
                if let Some(life) = &mut self.life {
                    life.resources.loaded();
                }
                self.announce_up(generation).await;
            }
            Action::AnnounceDraining { generation } => {
                self.tell(Message::InstanceDraining { instance: self.setup.number, generation }).await;
                self.report(Report::Down(self.setup.number)).await;
            }
            Action::AnnounceDown { generation, cause } => self.announce_down(generation, &cause).await,
            Action::ReportExit { generation, cause, age, expected } => {
                self.report_exit(generation, &cause, age, expected);
            }
            Action::ReportBackoff { delay } => {
                let (model, instance) = (&self.setup.described.name, &self.setup.spec.name);
                tracing::info!(model, instance, ?delay, "worker will be started again");
            }
            Action::ReportLoadFailed { reason } => {
                let reason = life::with_last_line(reason, &self.last_lines().await);
                self.report(Report::LoadFailed { instance: self.setup.number, reason }).await;
            }
            Action::ReportFailed { reason } => {
                let (model, instance) = (&self.setup.described.name, &self.setup.spec.name);
                tracing::error!(model, instance, "{reason}");
                self.publish(Severity::Error, "crash_loop", reason.clone());
                self.report(Report::Failed { instance: self.setup.number, reason }).await;
            }
            Action::ReportStopped => self.report_stopped().await,
        }
    }

    fn signal(&mut self, signal: Signal) {
        match &self.life {
            Some(life) => {
                if let Err(error) = life.process.signal_group(signal) {
                    tracing::error!(instance = self.setup.spec.name, %signal, "unable to signal worker: {error}");
                }
            }
            None => self.signal_at_birth = Some(signal),
        }
    }
}

async fn or_never<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
