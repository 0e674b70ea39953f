//! Starts this test binary again as another process, in the part that a test wants it to play.
//!
//! The child runs one "test" by name, which does nothing unless [`ROLE`] is in its environment.

use nereid_ipc::{
    Channel,
    sys::{spawn::WorkerCommand, worker_process::WorkerProcess},
};
use std::{env, time::Duration};

/// Names the part.
pub(crate) const ROLE: &str = "NEREID_TEST_ROLE";
/// A test that waits longer has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A started process and our ends of its sockets.
pub(crate) struct Started {
    pub(crate) process: WorkerProcess,
    pub(crate) control: Channel,
    pub(crate) execution: Channel,
}

/// A command that will run the test `entry` as `role`.
pub(crate) fn command(entry: &str, role: &str) -> WorkerCommand {
    let mut command = WorkerCommand::new(env::current_exe().unwrap());
    command.args(["--exact", entry, "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command
}

/// Starts it.
pub(crate) fn start(entry: &str, role: &str) -> Started {
    let (control, their_control) = Channel::pair().unwrap();
    let (execution, their_execution) = Channel::pair().unwrap();
    let process = command(entry, role).spawn(their_control.into_fd(), their_execution.into_fd()).unwrap();
    Started { process, control, execution }
}

/// The part that this process plays, if it is such a child.
pub(crate) fn role() -> Option<String> {
    env::var(ROLE).ok()
}
