//! The task of one model version: it drives the core's version machine, completes the configuration with what the
//! first worker reports, and starts and stops the tasks of the instances and of the scheduler.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant as StdInstant;

use nereid_core::config::complete::{DEFAULT_MAX_BATCH_SIZE, DEFAULT_MAX_BATCH_SIZE_KEY, complete};
use nereid_core::config::instances::instances;
use nereid_core::config::{InstanceSpec, ModelConfig, RawConfig, ServerFacts, render};
use nereid_core::error::ServeError;
use nereid_core::ids::InstanceId;
use nereid_core::lifecycle::InstanceConfig;
use nereid_core::lifecycle::version::{Action, Event, Member, State, Version, VersionConfig};
use nereid_core::machine::Machine;
use nereid_core::schedule::{Scheduler, SchedulerConfig};
use nereid_core::time::{Duration, Instant};
use nereid_proto::worker::{Description, Model as WorkerModel};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::connection::Order;
use super::exec::{Program, Spawner};
use super::instance::{self, ORDERS_MAX, Prepared, Report, Setup};
use super::programs::Programs;
use super::status::StatusCell;
use super::unserved;
use crate::clock;
use crate::observe::crashes::Crashes;
use crate::observe::events::{Events, Severity, Subject};
use crate::serve::model::{INBOX_MAX, Message, Model};
use crate::serve::registry::{Registry, VersionState};
use crate::serve::version::VersionShared;

/// Reports of instances that may wait; each instance has few on the way at a time.
const REPORTS_MAX: usize = 1024;
const COMMANDS_MAX: usize = 8;

/// What is the same for every version.
#[derive(Debug)]
pub struct Environment {
    pub programs: Programs,
    pub spawner: Spawner,
    pub registry: Arc<Registry>,
    pub facts: ServerFacts,
    /// `--backend-config`: (backend, or empty for all; key; value), in the order given.
    pub backend_config: Vec<(String, String, String)>,
    pub auto_complete: bool,
    /// Of each direction, for each instance.
    pub arena_bytes_max: u64,
    pub instance: InstanceConfig,
    pub stop_timeout: Duration,
    pub events: Arc<Events>,
    pub crashes: Arc<Crashes>,
}

/// What is to be loaded.
#[derive(Debug)]
pub struct Request {
    /// Filled in as far as it can be without a worker.
    pub config: RawConfig,
    pub version: i64,
    pub directory: PathBuf,
    pub version_directory: PathBuf,
}

/// A running version: how to end it.
#[derive(Debug)]
pub struct Handle {
    unload: mpsc::Sender<Instant>,
    task: JoinHandle<bool>,
}

impl Handle {
    /// Ends the version by `deadline`, or at once when `urgent` turns true: its requests first, then its workers.
    /// Waits until nothing of it is left. Whether its workers ended by themselves.
    pub async fn unload(self, deadline: Instant, mut urgent: watch::Receiver<bool>) -> bool {
        let Self { unload, mut task } = self;
        let _ = unload.send(deadline).await;
        let in_time = tokio::select! {
            biased;
            ended = &mut task => Some(ended),
            _ = urgent.wait_for(|urgent| *urgent) => None,
        };
        let ended = match in_time {
            Some(ended) => ended,
            None => {
                let _ = unload.send(clock::now()).await;
                task.await
            }
        };
        // It fails only if the runtime is going down, which is an end as well.
        ended.unwrap_or(false)
    }
}

struct Task {
    environment: Arc<Environment>,
    request: Request,
    machine: Version,
    specs: Vec<InstanceSpec>,
    program: Program,
    described: Arc<WorkerModel>,
    reports: mpsc::Receiver<Report>,
    report_sender: mpsc::Sender<Report>,
    prepare: watch::Sender<Option<Prepared>>,
    orders: BTreeMap<InstanceId, mpsc::Sender<Order>>,
    statuses: Vec<Arc<StatusCell>>,
    shared: Option<Arc<VersionShared>>,
    /// The scheduler was told to stop, or would have been if there had been one: none may begin any more.
    scheduler_stopped: bool,
    started: StdInstant,
    outcome: Option<oneshot::Sender<Result<(), ServeError>>>,
    /// A worker had to be killed at the end.
    killed: bool,
    ended: bool,
}

/// Begins to load a version. The receiver gets the outcome; a version that could not be loaded leaves nothing.
pub fn load(
    environment: Arc<Environment>,
    request: Request,
) -> Result<(Handle, oneshot::Receiver<Result<(), ServeError>>), ServeError> {
    let program = environment.programs.for_model(&request.config, &request.directory)?;
    let specs = instances(&request.config);
    let members = specs.iter().enumerate().map(|(index, spec)| Member {
        instance: InstanceId(u32::try_from(index).unwrap_or(u32::MAX)),
        passive: spec.passive,
    });
    let config = VersionConfig { instances: members.collect(), stop_timeout: environment.stop_timeout };
    let (report_sender, reports) = mpsc::channel(REPORTS_MAX);
    let (outcome, outcome_receiver) = oneshot::channel();
    let mut task = Task {
        described: Arc::new(environment.worker_model(&request, &request.config, &program)),
        machine: Version::new(config),
        statuses: specs.iter().map(|_| Arc::default()).collect(),
        specs,
        program,
        reports,
        report_sender,
        prepare: watch::Sender::new(None),
        orders: BTreeMap::new(),
        shared: None,
        scheduler_stopped: false,
        started: StdInstant::now(),
        outcome: Some(outcome),
        killed: false,
        ended: false,
        environment,
        request,
    };
    if !task.describes() {
        // Nobody to ask: the configuration has to be complete as it is.
        task.complete(&Description::default())?;
    }
    let (unload, unloads) = mpsc::channel(COMMANDS_MAX);
    Ok((Handle { unload, task: tokio::spawn(task.run(unloads)) }, outcome_receiver))
}

impl Environment {
    /// What a worker is told of a model, but for what differs between instances.
    fn worker_model(&self, request: &Request, config: &RawConfig, program: &Program) -> WorkerModel {
        let text = |path: &Path| path.display().to_string();
        let mut backend_config = BTreeMap::new();
        for wanted in ["", config.backend.as_str()] {
            let settings = self.backend_config.iter().filter(|(backend, _, _)| backend == wanted);
            backend_config.extend(settings.map(|(_, key, value)| (key.clone(), value.clone())));
        }
        WorkerModel {
            name: config.name.clone(),
            version: request.version,
            directory: text(&request.directory),
            version_directory: text(&request.version_directory),
            config: Some(config.clone()),
            config_json: render::to_json(config),
            backend_config,
            working_directory: text(&program.directory),
            writable: program.confinement.writable.iter().map(|path| text(path)).collect(),
            ..Default::default()
        }
    }
}

impl Task {
    fn describes(&self) -> bool {
        self.environment.auto_complete
    }

    /// Whether the workers ended by themselves.
    async fn run(mut self, mut unloads: mpsc::Receiver<Instant>) -> bool {
        self.publish(Severity::Info, "model_loading", "");
        self.machine.handle(clock::now(), Event::Load);
        self.perform().await;
        let mut unloads_open = true;
        while !self.ended {
            let deadline = self.machine.next_deadline();
            tokio::select! {
                biased;
                report = self.reports.recv() => {
                    if let Some(report) = report {
                        self.reported(report);
                    }
                }
                unload = unloads.recv(), if unloads_open => match unload {
                    Some(deadline) => self.machine.handle(clock::now(), Event::Unload { deadline }),
                    // Nobody can ask any more; the version goes on until the process ends.
                    None => unloads_open = false,
                },
                () = clock::until(deadline) => self.machine.expire(clock::now()),
            }
            self.perform().await;
        }
        !self.killed
    }

    fn reported(&mut self, report: Report) {
        let now = clock::now();
        match report {
            // It comes too late for a load that was given up.
            Report::Described(_) if self.scheduler_stopped || self.shared.is_some() => {}
            Report::Described(description) => {
                if let Err(error) = self.complete(&description) {
                    let event = Event::InstanceLoadFailed { instance: InstanceId(0), reason: error.message };
                    self.machine.handle(now, event);
                }
            }
            Report::Starting(instance) => self.machine.handle(now, Event::InstanceStarting { instance }),
            Report::Up(instance) => self.machine.handle(now, Event::InstanceUp { instance }),
            Report::Down(instance) => self.machine.handle(now, Event::InstanceDown { instance }),
            Report::LoadFailed { instance, reason } => {
                self.machine.handle(now, Event::InstanceLoadFailed { instance, reason });
            }
            Report::Failed { instance, reason } => {
                self.machine.handle(now, Event::InstanceFailed { instance, reason });
            }
            Report::Stopped { instance, killed } => {
                self.killed |= killed;
                self.orders.remove(&instance);
                self.machine.handle(now, Event::InstanceStopped { instance });
            }
            Report::Drained => self.machine.handle(now, Event::Drained),
        }
    }

    /// The configuration becomes final, and the scheduler's task begins.
    fn complete(&mut self, description: &Description) -> Result<(), ServeError> {
        let mut raw = self.request.config.clone();
        for warning in complete(&mut raw, description, self.default_max_batch_size())? {
            tracing::warn!(model = raw.name, "{warning}");
        }
        let config = ModelConfig::new(raw, &self.environment.facts)?.with_shape_seed(shape_seed());
        for what in unserved::check(&config)? {
            tracing::warn!(model = config.name(), "{what}");
        }
        let (inbox, messages) = mpsc::channel(INBOX_MAX);
        let scheduler = Scheduler::new(SchedulerConfig::from_model(config.raw(), 0));
        let model = Arc::new(self.environment.worker_model(&self.request, config.raw(), &self.program));
        let shared = Arc::new(VersionShared::new(
            self.request.version,
            config,
            self.specs.clone(),
            self.statuses.clone(),
            inbox.clone(),
        ));
        let model_task = Model::new(Arc::clone(&shared), scheduler, messages, inbox.downgrade());
        let reports = self.report_sender.clone();
        tokio::spawn(async move {
            let connections = model_task.run().await;
            let _ = reports.send(Report::Drained).await;
            // Until the version's task has ended, and with it the workers.
            reports.closed().await;
            drop(connections);
        });
        self.shared = Some(shared);
        self.prepare.send_replace(Some(Prepared { model, inbox }));
        Ok(())
    }

    fn default_max_batch_size(&self) -> i32 {
        self.described
            .backend_config
            .get(DEFAULT_MAX_BATCH_SIZE_KEY)
            .and_then(|value| value.parse().ok())
            .unwrap_or(DEFAULT_MAX_BATCH_SIZE)
    }

    async fn perform(&mut self) {
        while let Some(action) = self.machine.poll() {
            self.act(action).await;
        }
    }

    async fn act(&mut self, action: Action) {
        match action {
            Action::StartInstance { instance } => self.start(instance),
            Action::StopInstance { instance, deadline } => {
                if let Some(orders) = self.orders.get(&instance) {
                    let _ = orders.send(Order::Stop { deadline }).await;
                }
            }
            Action::StopScheduler => {
                self.scheduler_stopped = true;
                match &self.shared {
                    Some(shared) => drop(shared.inbox().send(Message::Stop).await),
                    None => self.machine.handle(clock::now(), Event::Drained),
                }
            }
            Action::FailFast { reason } => {
                let WorkerModel { name, version, .. } = &*self.described;
                let reason = format!("model '{name}' version {version}: {reason}").into();
                self.tell(Message::Unavailable(reason)).await;
            }
            Action::StopFailFast => self.tell(Message::Available).await,
            Action::Readiness { ready } => {
                if let Some(shared) = &self.shared {
                    shared.set_ready(ready);
                }
                match (ready, self.machine.state()) {
                    (true, _) => self.publish(Severity::Info, "model_ready", "requests are taken"),
                    // Those who unload it say so themselves.
                    (false, State::Ready) => {
                        self.publish(
                            Severity::Warning,
                            "model_unavailable",
                            "no instance can take a request",
                        );
                    }
                    (false, _) => {}
                }
            }
            Action::ReportLoaded => self.loaded(),
            Action::ReportLoadFailed { reason } => self.load_failed(&reason),
            Action::ReportUnloaded => {
                self.set_state(VersionState::Unloaded);
                self.publish(Severity::Info, "model_unloaded", "");
                tracing::info!(
                    "successfully unloaded '{}' version {}",
                    self.described.name,
                    self.request.version
                );
                self.ended = true;
            }
        }
    }

    async fn tell(&self, message: Message) {
        if let Some(shared) = &self.shared {
            let _ = shared.inbox().send(message).await;
        }
    }

    fn start(&mut self, number: InstanceId) {
        let index = number.0 as usize;
        let (orders, order_receiver) = mpsc::channel(ORDERS_MAX);
        let setup = Setup {
            number,
            spec: self.specs[index].clone(),
            spawner: self.environment.spawner.clone(),
            program: self.program.clone(),
            described: Arc::clone(&self.described),
            config: InstanceConfig {
                describe_first: index == 0 && self.describes(),
                seed: shape_seed(),
                handshake_timeout: if self.program.starts_slowly() {
                    self.environment.instance.load_timeout
                } else {
                    self.environment.instance.handshake_timeout
                },
                ..self.environment.instance.clone()
            },
            arena_bytes_max: self.environment.arena_bytes_max,
            status: Arc::clone(&self.statuses[index]),
            prepared: self.prepare.subscribe(),
            reports: self.report_sender.clone(),
            events: Arc::clone(&self.environment.events),
            crashes: Arc::clone(&self.environment.crashes),
        };
        tokio::spawn(instance::run(setup, order_receiver, orders.clone()));
        self.orders.insert(number, orders);
    }

    fn loaded(&mut self) {
        let Some(shared) = &self.shared else { return };
        shared.set_load_time(self.started.elapsed());
        self.set_state(VersionState::Ready(Arc::clone(shared)));
        tracing::info!("successfully loaded '{}' version {}", self.described.name, self.request.version);
        self.end_load(Ok(()));
    }

    fn load_failed(&mut self, reason: &str) {
        let error = ServeError::invalid(reason);
        let WorkerModel { name, version, .. } = &*self.described;
        if matches!(self.machine.state(), State::Unloading) {
            tracing::info!("the load of '{name}' version {version} is given up: {reason}");
        } else {
            tracing::error!("failed to load '{name}' version {version}: {}", error.as_status());
        }
        self.set_state(VersionState::Unavailable(error.as_status().to_string()));
        self.publish(Severity::Error, "model_unavailable", reason);
        self.end_load(Err(error));
        // One that is unloaded while it is loaded still has its workers to wait for.
        self.ended = matches!(self.machine.state(), State::Unavailable { .. });
    }

    fn publish(&self, severity: Severity, kind: &str, message: &str) {
        let WorkerModel { name, version, .. } = &*self.described;
        let subject = Subject { model: name, version: *version, ..Subject::default() };
        self.environment.events.publish(severity, kind, subject, message);
    }

    fn set_state(&self, state: VersionState) {
        self.environment.registry.set(&self.described.name, self.request.version, state);
    }

    fn end_load(&mut self, outcome: Result<(), ServeError>) {
        if let Some(sender) = self.outcome.take() {
            // Whoever asked for the load may be gone; the state tells the same.
            let _ = sender.send(outcome);
        }
    }
}

/// A number that clients cannot know.
fn shape_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u8)
}
