//! Workers that wait for a model: started, their interpreter and numpy imported, and not told yet what for.
//!
//! What takes time in the start of a Python worker is the same for all models of one environment. So some are started ahead,
//! one at a time and at a low priority, for each environment that a model was started in; a model that starts takes one
//! and gives it a generation in the Hello that every worker gets. Such a worker is confined to the folders of all
//! models at its start, and to its own when it learns of it (`nereid_worker`'s `late`).
//!
//! Deliberately not here: workers of one model that are kept for it. A pooled worker has seen no model.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nereid_core::ids::Generation;
use nereid_ipc::channel::{AsyncChannel, Channel};
use nereid_ipc::sys::sandbox::{Confinement, Level};
use nereid_ipc::version::{PROTOCOL_MAX, PROTOCOL_MIN};
use nereid_proto::worker::{ControlToSupervisor, control_to_supervisor as from_worker};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::exec::{Program, Spawned, Spawner};
use super::handshake;

/// Environments that are kept ready; of more, the one that was used last long ago is given up.
const SHELVES_MAX: usize = 8;
/// Models that may wait for the pool's answer, which takes no time.
const INBOX_MAX: usize = 64;
/// So long after a model was started nothing is started ahead: its load comes first.
const REFILL_AFTER: Duration = Duration::from_millis(500);
/// How often waiting workers are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// For the first word of a worker, which may have to unpack an environment.
const HELLO_TIMEOUT: Duration = Duration::from_secs(600);
/// Failures in a row after which an environment is given up until a model is started in it again.
const FAILURES_MAX: u32 = 3;
/// What stands for a generation that will be told later.
const LATER: Generation = Generation(0);

/// The way to the pool. Its workers end with the last one of these.
#[derive(Clone, Debug)]
pub struct Pool {
    inbox: mpsc::Sender<Take>,
    /// Where all models lie: what a worker that waits may write.
    writable: Vec<PathBuf>,
}

/// "Give me one that runs this, if there is one."
#[derive(Debug)]
struct Take {
    program: Program,
    reply: oneshot::Sender<Option<Spawned>>,
}

impl Pool {
    /// Keeps `size` workers ready for each environment, for models in these repositories. From within the runtime.
    #[must_use]
    pub fn start(size: usize, spawner: Spawner, repositories: &[PathBuf]) -> Self {
        let (inbox, takes) = mpsc::channel(INBOX_MAX);
        let keeper = Keeper { size, spawner, shelves: VecDeque::new(), quiet_until: Instant::now() };
        tokio::spawn(keeper.run(takes));
        let mut writable: Vec<_> = repositories.iter().filter_map(|path| path.canonicalize().ok()).collect();
        writable.push(std::env::temp_dir());
        Self { inbox, writable }
    }

    /// A worker that waits for such a program, and whose model may be of this memory limit.
    pub(super) async fn take(&self, program: &Program) -> Option<Spawned> {
        let (reply, answer) = oneshot::channel();
        let general = general(program, &self.writable)?;
        self.inbox.send(Take { program: general, reply }).await.ok()?;
        let mut spawned = answer.await.ok()??;
        match spawned.resources.adopt(program.memory_limit) {
            Ok(()) => Some(spawned),
            Err(error) => {
                tracing::warn!("a worker from the pool cannot be limited: {error}");
                None
            }
        }
    }
}

/// The program without what it has of its model; `None` if it cannot be started without.
fn general(program: &Program, writable: &[PathBuf]) -> Option<Program> {
    let level = program.confinement.level;
    let mut places = writable.to_vec();
    places.extend(program.cache.clone());
    let covered = |path: &PathBuf| {
        // A model's folder may be a link to another place.
        let path = path.canonicalize().ok();
        path.is_some_and(|path| {
            places.iter().any(|place| path.starts_with(place.canonicalize().as_ref().unwrap_or(place)))
        })
    };
    let fits = match level {
        Level::Off => true,
        Level::Standard => program.confinement.writable.iter().all(covered),
        // Whoever may read little cannot be told later what.
        Level::Strict => false,
    };
    let writable = if level == Level::Off { Vec::new() } else { places };
    (fits && program.is_slow_to_start).then(|| Program {
        directory: Path::new("/").to_owned(),
        confinement: Confinement { level, writable, readable: Vec::new() },
        memory_limit: None,
        ..program.clone()
    })
}

/// What is ready for one environment.
#[derive(Debug)]
struct Shelf {
    program: Program,
    ready: Vec<Spawned>,
    failures: u32,
}

#[derive(Debug)]
struct Keeper {
    size: usize,
    spawner: Spawner,
    /// The one that was used last comes first.
    shelves: VecDeque<Shelf>,
    quiet_until: Instant,
}

impl Keeper {
    async fn run(mut self, mut takes: mpsc::Receiver<Take>) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut starting = None;
        loop {
            let next = if starting.is_none() { self.wanted() } else { None };
            tokio::select! {
                biased;
                take = takes.recv() => match take {
                    Some(take) => self.take(take),
                    None => return,
                },
                started = async { starting.as_mut().expect("guarded").await }, if starting.is_some() => {
                    starting = None;
                    let (program, outcome) = started;
                    self.started(&program, outcome);
                }
                () = tokio::time::sleep_until(self.quiet_until), if next.is_some() => {
                    starting = next.map(|program| Box::pin(start(self.spawner.clone(), program)));
                }
                _ = looks.tick(), if !self.shelves.is_empty() => self.look(),
            }
        }
    }

    fn take(&mut self, Take { program, reply }: Take) {
        self.quiet_until = Instant::now() + REFILL_AFTER;
        let place = self.shelves.iter().position(|shelf| shelf.program == program);
        let mut shelf = match place.and_then(|place| self.shelves.remove(place)) {
            Some(shelf) => shelf,
            None => Shelf { program, ready: Vec::new(), failures: 0 },
        };
        shelf.failures = 0;
        let mut found = None;
        while let Some(mut spawned) = shelf.ready.pop() {
            if matches!(spawned.process.try_wait(), Ok(None)) {
                found = Some(spawned);
                break;
            }
        }
        // Whoever asked may be gone; the worker ends then.
        let _ = reply.send(found);
        self.shelves.push_front(shelf);
        self.shelves.truncate(SHELVES_MAX);
    }

    /// The environment that lacks a worker.
    fn wanted(&self) -> Option<Program> {
        let lacks = |shelf: &&Shelf| shelf.ready.len() < self.size && shelf.failures < FAILURES_MAX;
        self.shelves.iter().find(lacks).map(|shelf| shelf.program.clone())
    }

    fn started(&mut self, program: &Program, outcome: Result<Spawned, String>) {
        let Some(shelf) = self.shelves.iter_mut().find(|shelf| shelf.program == *program) else { return };
        match outcome {
            Ok(spawned) => {
                tracing::debug!(pid = spawned.process.id(), "a worker waits for a model");
                shelf.ready.push(spawned);
                shelf.failures = 0;
            }
            Err(error) => shelf.failed(&error),
        }
    }

    fn look(&mut self) {
        for shelf in &mut self.shelves {
            let before = shelf.ready.len();
            shelf.ready.retain_mut(|spawned| matches!(spawned.process.try_wait(), Ok(None)));
            if shelf.ready.len() < before {
                shelf.failed("it ended while it waited for a model");
            }
        }
    }
}

impl Shelf {
    fn failed(&mut self, error: &str) {
        self.failures += 1;
        let path = self.program.path.display();
        if self.failures == FAILURES_MAX {
            tracing::warn!(
                "no more workers are started ahead with '{path}' for now, as {FAILURES_MAX} failed: {error}"
            );
        } else {
            tracing::debug!("a worker that was started ahead with '{path}' failed: {error}");
        }
    }
}

async fn start(spawner: Spawner, program: Program) -> (Program, Result<Spawned, String>) {
    let started = async {
        let spawned = spawner.start(program.clone(), LATER).await.map_err(|error| error.to_string())?;
        match tokio::time::timeout(HELLO_TIMEOUT, greet(spawned)).await {
            Ok(greeted) => greeted,
            Err(_) => Err(format!("it said nothing for {HELLO_TIMEOUT:?}")),
        }
    };
    let outcome = started.await;
    (program, outcome)
}

/// Waits until the worker is ready to be told its generation.
async fn greet(spawned: Spawned) -> Result<Spawned, String> {
    let Spawned { process, control, execution, resources } = spawned;
    let mut channel = AsyncChannel::new(control).map_err(|error| error.to_string())?;
    channel.try_send(&handshake::hello(LATER), None).map_err(|error| error.to_string())?;
    let reply = channel.recv::<ControlToSupervisor>().await.map_err(|error| error.to_string())?;
    match reply.message {
        ControlToSupervisor { generation: 0, message: Some(from_worker::Message::Hello(hello)) }
            if (PROTOCOL_MIN..=PROTOCOL_MAX).contains(&hello.protocol) => {}
        other => return Err(format!("it said something else than Hello: {other:?}")),
    }
    let control = Channel::from_fd(channel.into_fd()).map_err(|error| error.to_string())?;
    Ok(Spawned { process, control, execution, resources })
}

#[cfg(test)]
mod tests;
