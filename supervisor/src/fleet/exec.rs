//! The only place that starts processes.
//!
//! The fork itself, and what happens between it and `exec`, is in `nereid_ipc::sys::spawn`: all workers are forked
//! by one thread that lives as long as the server, since the kernel ties the parent-death signal to the thread that
//! forked. This module does not decide what to start ([`super::programs`]) nor when ([`super::instance`]).

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use nereid_core::ids::Generation;
use nereid_ipc::channel::Channel;
use nereid_ipc::error::IpcError;
use nereid_ipc::sys::sandbox::Confinement;
use nereid_ipc::sys::spawn::WorkerCommand;
use nereid_ipc::sys::worker_process::WorkerProcess;
use tokio::sync::Semaphore;

use super::cgroup::Groups;
use super::pool::Pool;
use super::resources::Resources;

/// What to run for an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
    /// Set on top of the server's own environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where the process starts: the model's directory.
    pub directory: PathBuf,
    pub confinement: Confinement,
    /// Bytes that a worker may use.
    pub memory_limit: Option<u64>,
    /// Where it unpacks its environment, if it does.
    pub cache: Option<PathBuf>,
    /// It is worth starting ahead of need.
    pub is_slow_to_start: bool,
}

/// A process that has just been started, and our ends of its sockets.
#[derive(Debug)]
pub struct Spawned {
    pub process: WorkerProcess,
    pub control: Channel,
    pub execution: Channel,
    pub resources: Resources,
}

/// Why a worker could not be started. The words follow "could not be started: ".
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("'{program}': {source}")]
    Exec { program: String, source: io::Error },
    #[error("no control group: {0}")]
    Group(io::Error),
    #[error("no sockets: {0}")]
    Sockets(#[from] IpcError),
    #[error("the server is stopping")]
    Stopping,
}

/// Starts that are on their way at once. One thread forks them all, so more would only fill the blocking pool, which
/// the requests need for their large tensors.
const STARTS_MAX: usize = 2;

/// The right to start processes, shared by all instances. The wait for `exec` does not hold up the runtime.
#[derive(Clone, Debug)]
pub struct Spawner {
    starts: Arc<Semaphore>,
    /// `None` where the server has no part of the tree.
    groups: Option<Arc<Groups>>,
    pool: Option<Pool>,
}

impl Default for Spawner {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Spawner {
    /// One that gives each worker a group, if there is a place for it.
    #[must_use]
    pub fn new(groups: Option<Arc<Groups>>) -> Self {
        Self { starts: Arc::new(Semaphore::new(STARTS_MAX)), groups, pool: None }
    }

    /// The same, with so many workers ready for each environment. From within the runtime.
    #[must_use]
    pub fn with_pool(mut self, size: usize, repositories: &[PathBuf]) -> Self {
        self.pool = (size > 0).then(|| Pool::start(size, self.clone(), repositories));
        self
    }

    /// Starts `program` as the given incarnation.
    pub async fn start(self, program: Program, generation: Generation) -> Result<Spawned, SpawnError> {
        if let Some(pool) = &self.pool
            && let Some(spawned) = pool.take(&program).await
        {
            tracing::debug!(pid = spawned.process.id(), %generation, "a worker from the pool");
            return Ok(spawned);
        }
        let Ok(_permit) = self.starts.acquire().await else { return Err(SpawnError::Stopping) };
        let groups = self.groups.clone();
        tokio::task::spawn_blocking(move || spawn(&program, generation, groups))
            .await
            .unwrap_or(Err(SpawnError::Stopping))
    }
}

fn spawn(
    program: &Program,
    generation: Generation,
    groups: Option<Arc<Groups>>,
) -> Result<Spawned, SpawnError> {
    let (control, control_theirs) = Channel::pair()?;
    let (execution, execution_theirs) = Channel::pair()?;
    let mut command = WorkerCommand::new(&program.path);
    command.args(&program.args).current_dir(&program.directory).confine(program.confinement.clone());
    command.env("NEREID_GENERATION", generation.to_string());
    for (name, value) in &program.env {
        command.env(name, value);
    }
    let group = groups.map(|groups| groups.worker(program.memory_limit));
    let group = group.transpose().map_err(SpawnError::Group)?;
    if let Some(group) = &group {
        command.group(group.entrance().map_err(SpawnError::Group)?);
    }
    let process = command
        .spawn(control_theirs.into_fd(), execution_theirs.into_fd())
        .map_err(|source| SpawnError::Exec { program: program.path.display().to_string(), source })?;
    let resources = Resources::begin(process.id(), program.memory_limit, group);
    Ok(Spawned { process, control, execution, resources })
}
