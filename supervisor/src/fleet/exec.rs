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
}

/// A process that has just been started, and our ends of its sockets.
#[derive(Debug)]
pub struct Spawned {
    pub process: WorkerProcess,
    pub control: Channel,
    pub execution: Channel,
}

/// Why a worker could not be started. The words follow "could not be started: ".
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("'{program}': {source}")]
    Exec { program: String, source: io::Error },
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
pub struct Spawner(Arc<Semaphore>);

impl Default for Spawner {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(STARTS_MAX)))
    }
}

impl Spawner {
    /// Starts `program` as the given incarnation.
    pub async fn start(self, program: Program, generation: Generation) -> Result<Spawned, SpawnError> {
        let Ok(_permit) = self.0.acquire().await else { return Err(SpawnError::Stopping) };
        tokio::task::spawn_blocking(move || spawn(&program, generation))
            .await
            .unwrap_or(Err(SpawnError::Stopping))
    }
}

fn spawn(program: &Program, generation: Generation) -> Result<Spawned, SpawnError> {
    let (control, control_theirs) = Channel::pair()?;
    let (execution, execution_theirs) = Channel::pair()?;
    let mut command = WorkerCommand::new(&program.path);
    command.args(&program.args).current_dir(&program.directory).confine(program.confinement.clone());
    command.env("NEREID_GENERATION", generation.to_string());
    for (name, value) in &program.env {
        command.env(name, value);
    }
    let process = command
        .spawn(control_theirs.into_fd(), execution_theirs.into_fd())
        .map_err(|source| SpawnError::Exec { program: program.path.display().to_string(), source })?;
    Ok(Spawned { process, control, execution })
}
