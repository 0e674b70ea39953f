//! The end of the server, in one written order. First a grace in which the server says that it is not ready and still
//! serves, so that balancers turn away before a connection is refused. Then, under one deadline: the frontends, so that
//! what was accepted is answered; and the versions with their workers. The metrics endpoint goes last. A second signal
//! ends the grace and brings the deadline forward to now.

use std::time::Duration;

use nereid_core::time::Instant;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::clock;
use crate::exit::Exit;
use crate::fleet::version::Handle;
use crate::repository::running::Running;
use crate::signals::Signals;

/// What a worker gets at least to unload its model.
const WORKER_STOP_MIN: Duration = Duration::from_secs(1);

/// What the connections of the metrics endpoint get to end.
const METRICS_STOP_MAX: Duration = Duration::from_millis(200);

/// Listeners that stop together, and their connections.
#[derive(Debug)]
pub struct Endpoint {
    /// Turns true when they are to take nothing new.
    pub stop: watch::Sender<bool>,
    pub tasks: Vec<JoinHandle<()>>,
}

impl Endpoint {
    /// Stops them, and cuts off what is left at the deadline.
    async fn end(self, deadline: Instant) {
        let Self { stop, tasks } = self;
        stop.send_replace(true);
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let ended = async {
            for task in tasks {
                // An error is a panic there, which was reported; it has ended all the same.
                let _ = task.await;
            }
        };
        if tokio::time::timeout_at(clock::to_std(deadline).into(), ended).await.is_err() {
            tracing::warn!("connections were still open at the deadline and are closed");
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }
}

/// What is to be ended besides the versions, and how.
#[derive(Debug)]
pub struct Plan {
    pub grace: Duration,
    pub timeout: Duration,
    pub frontends: Endpoint,
    pub metrics: Endpoint,
}

/// Ends everything. The server says already that it is not ready.
pub async fn run(signals: &mut Signals, plan: Plan, running: &Running) -> Exit {
    let Plan { grace, timeout, frontends, metrics } = plan;
    let mut hurried = false;
    if !grace.is_zero() {
        tracing::info!(?grace, "not ready, and still serving for a while");
        hurried = is_hurried(signals, tokio::time::sleep(grace)).await;
    }
    let deadline = clock::now() + if hurried { Duration::ZERO } else { timeout };
    tracing::info!("Waiting for in-flight requests to complete.");
    hurried |= is_hurried(signals, frontends.end(deadline)).await;
    // Workers without requests need a moment to end, whatever the requests have left of the time.
    let deadline = if hurried { clock::now() } else { deadline.max(clock::now() + WORKER_STOP_MIN) };
    let by_themselves = unload(signals, running.take(), deadline).await;
    metrics.end(clock::now() + METRICS_STOP_MAX).await;
    if by_themselves {
        tracing::info!("stopped");
        Exit::Ok
    } else {
        tracing::error!("failed to stop server: workers had to be killed");
        Exit::Failed
    }
}

/// Waits for it, or for another signal: whether that came first.
async fn is_hurried(signals: &mut Signals, wait: impl Future<Output = ()>) -> bool {
    tokio::select! {
        biased;
        () = wait => false,
        name = signals.next() => {
            tracing::warn!("{name} again: stopping now");
            true
        }
    }
}

/// Whether all workers ended by themselves.
async fn unload(signals: &mut Signals, versions: Vec<Handle>, deadline: Instant) -> bool {
    let mut unloads = JoinSet::new();
    let urgent = watch::Sender::new(false);
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
