//! What an operator can have done, as the admin service calls it, and how whatever does it tells how far it has come.
//!
//! The service knows nothing of repositories and workers; whoever implements [`Control`] knows nothing of operations,
//! requests and clients.

use std::fmt;
use std::sync::Arc;

use nereid_core::error::ServeError;
use nereid_core::time::Duration;
use tokio::sync::watch;

/// Some of a model: all versions without one, all instances without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub model: String,
    pub version: Option<i64>,
    pub instance: Option<String>,
}

impl fmt::Display for Target {
    /// "model", "model:version" or "model:instance".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.model)?;
        match (&self.instance, self.version) {
            (Some(instance), _) => write!(f, ":{instance}"),
            (None, Some(version)) => write!(f, ":{version}"),
            (None, None) => Ok(()),
        }
    }
}

/// How a worker is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// A successor is loaded before the worker stops.
    BlueGreen,
    /// The worker finishes and stops before its successor starts.
    Recreate,
    /// The worker is killed. What it holds fails.
    Force,
}

/// How far something has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What is done now.
    pub message: String,
    pub done: u32,
    pub total: u32,
}

/// How whatever runs tells how far it has come, and hears that it is to stop. Clones speak of the same operation.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    step: watch::Sender<Step>,
    cancelled: watch::Sender<bool>,
}

impl Progress {
    /// What is done now, in words for an operator.
    pub fn say(&self, message: &str) {
        self.0.step.send_if_modified(|step| {
            let differs = step.message != message;
            if differs {
                message.clone_into(&mut step.message);
            }
            differs
        });
    }

    /// So many steps of so many are done.
    pub fn steps(&self, done: u32, total: u32) {
        self.0.step.send_if_modified(|step| {
            let differs = (step.done, step.total) != (done, total);
            (step.done, step.total) = (done, total);
            differs
        });
    }

    /// Waits until it is to be cancelled; for ever if it never is. Whatever runs stops where it can, undoes what it
    /// has begun, and ends with an error of kind "cancelled".
    pub async fn cancelled(&self) {
        // The sender lives as long as this does.
        let _ = self.0.cancelled.subscribe().wait_for(|cancelled| *cancelled).await;
    }

    /// Whether it is to be cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.cancelled.borrow()
    }

    /// Asks whatever runs to stop.
    pub fn cancel(&self) {
        self.0.cancelled.send_replace(true);
    }

    /// The way to see how far it has come.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Step> {
        self.0.step.subscribe()
    }
}

/// What an operator can have done. Each future ends when it is done, not when it has begun; dropping one does not undo
/// what it has begun.
#[tonic::async_trait]
pub trait Control: Send + Sync + fmt::Debug + 'static {
    /// Replaces workers. With `reset`, past deaths are forgotten. `deadline` is for the requests of those that stop;
    /// `None` means the server's default.
    async fn restart(
        &self,
        target: Target,
        strategy: Strategy,
        reset: bool,
        deadline: Option<Duration>,
        progress: Progress,
    ) -> Result<(), ServeError>;

    /// Looks at a model's files again, or at the whole repository's, and serves what has changed; with `force` also what
    /// has not.
    async fn reload(&self, model: Option<String>, force: bool, progress: Progress) -> Result<(), ServeError>;

    /// Serves a model of the repository.
    async fn load(&self, model: String, progress: Progress) -> Result<(), ServeError>;

    /// Ends a model: what it has accepted first, then its workers.
    async fn unload(
        &self,
        model: String,
        deadline: Option<Duration>,
        progress: Progress,
    ) -> Result<(), ServeError>;

    /// Takes no new work on; `None`: the whole server says that it is not ready, and still serves. Ends when nothing runs
    /// any more; what does at the deadline is cut off, `None` means never.
    async fn drain(
        &self,
        target: Option<Target>,
        deadline: Option<Duration>,
        progress: Progress,
    ) -> Result<(), ServeError>;

    /// Takes work on again after a drain.
    async fn resume(&self, target: Option<Target>, progress: Progress) -> Result<(), ServeError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_named_as_operators_write_them() {
        let target = |version, instance: Option<&str>| Target {
            model: "m".to_owned(),
            version,
            instance: instance.map(ToOwned::to_owned),
        };
        assert_eq!(target(None, None).to_string(), "m");
        assert_eq!(target(Some(3), None).to_string(), "m:3");
        assert_eq!(target(Some(3), Some("m_0")).to_string(), "m:m_0");
    }

    #[tokio::test]
    async fn progress_is_seen_and_cancellation_heard_by_every_clone() {
        let progress = Progress::default();
        let mut watch = progress.watch();
        progress.clone().say("loads");
        progress.steps(1, 3);
        assert!(watch.has_changed().unwrap());
        assert_eq!(*watch.borrow_and_update(), Step { message: "loads".to_owned(), done: 1, total: 3 });
        progress.say("loads");
        progress.steps(1, 3);
        assert!(!watch.has_changed().unwrap(), "nothing is new");
        assert!(!progress.is_cancelled());
        progress.clone().cancel();
        progress.cancelled().await;
        assert!(progress.is_cancelled());
    }
}
