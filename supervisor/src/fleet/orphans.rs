//! When to look for what dead workers have left: whenever the kernel says that a child of ours has ended.
//!
//! A worker is such a child, and so is each orphan that has fallen to us. What belongs to whom is decided in
//! `nereid_ipc::sys::orphans`.

use std::io;
use std::time::Duration;

use nereid_ipc::sys::orphans::{self, Swept};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

/// Between two looks, so that a model whose children end by the thousand costs no more than a small part of a core.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes on the orphans of all workers, from before the first one until the server ends.
pub fn watch() -> io::Result<JoinHandle<()>> {
    let mut children = signal(SignalKind::child())?;
    orphans::become_subreaper()?;
    Ok(tokio::spawn(async move {
        while children.recv().await.is_some() {
            while look().await {
                tokio::time::sleep(PAUSE).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }))
}

/// Whether to look again.
async fn look() -> bool {
    match tokio::task::spawn_blocking(orphans::sweep).await {
        Ok(Ok(swept)) => {
            tell(&swept);
            swept.unfinished
        }
        Ok(Err(error)) => {
            tracing::error!("unable to look for processes that dead workers have left: {error}");
            false
        }
        // The runtime is going down; `finish` looks once more.
        Err(_) => false,
    }
}

/// The last look, when there are no workers any more. It may block for a moment.
pub fn finish() {
    if let Ok(swept) = orphans::sweep() {
        tell(&swept);
    }
}

fn tell(Swept { killed, .. }: &Swept) {
    if !killed.is_empty() {
        tracing::warn!(pids = ?killed, "killed what dead workers had left");
    }
}
