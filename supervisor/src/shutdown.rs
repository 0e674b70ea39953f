//! The end of the server, in one written order under one deadline: frontends first, so that what was accepted is
//! answered; then the versions with their workers. A second signal brings the deadline forward to now.

use std::time::Duration;

use nereid_core::time::Instant;
use tokio::task::{JoinHandle, JoinSet};

use crate::clock;
use crate::exit::Exit;
use crate::fleet::version::Handle;
use crate::signals::Signals;

/// What a worker gets at least to unload its model.
const WORKER_STOP_MIN: Duration = Duration::from_secs(1);

/// Ends everything. Frontends were told to stop already.
pub async fn run(
    signals: &mut Signals,
    timeout: Duration,
    frontends: Vec<JoinHandle<()>>,
    versions: Vec<Handle>,
) -> Exit {
    let deadline = clock::now() + timeout;
    tracing::info!("Waiting for in-flight requests to complete.");
    let hurried = tokio::select! {
        biased;
        () = frontends_ended(frontends, deadline) => false,
        name = signals.next() => {
            tracing::warn!("{name} again: stopping now");
            true
        }
    };
    // Workers without requests need a moment to end, whatever the requests have left of the time.
    let deadline = if hurried { clock::now() } else { deadline.max(clock::now() + WORKER_STOP_MIN) };
    if unload(signals, versions, deadline).await {
        tracing::info!("stopped");
        Exit::Ok
    } else {
        tracing::error!("failed to stop server: workers had to be killed");
        Exit::Failed
    }
}

async fn frontends_ended(frontends: Vec<JoinHandle<()>>, deadline: Instant) {
    let aborts: Vec<_> = frontends.iter().map(JoinHandle::abort_handle).collect();
    let ended = async {
        for frontend in frontends {
            // An error is a panic there, which was reported; it has ended all the same.
            let _ = frontend.await;
        }
    };
    if tokio::time::timeout_at(clock::to_std(deadline).into(), ended).await.is_err() {
        tracing::warn!("connections were still open at the deadline and are closed");
        aborts.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

/// Whether all workers ended by themselves.
async fn unload(signals: &mut Signals, versions: Vec<Handle>, deadline: Instant) -> bool {
    let mut unloads = JoinSet::new();
    let urgent = tokio::sync::watch::Sender::new(false);
    for version in versions {
        unloads.spawn(version.unload(deadline, urgent.subscribe()));
    }
    let mut by_themselves = true;
    loop {
        tokio::select! {
            biased;
            ended = unloads.join_next() => match ended {
                Some(ended) => by_themselves &= ended.unwrap_or(false),
                None => break by_themselves,
            },
            name = signals.next() => {
                tracing::warn!("{name} again: stopping now");
                urgent.send_replace(true);
            }
        }
    }
}
