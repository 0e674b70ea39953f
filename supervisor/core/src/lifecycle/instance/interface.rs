//! What goes into an instance and what comes out: the closed lists, and the numbers it is built from.
//!
//! Deliberately without behaviour; that is one level up.

use crate::ids::Generation;
use crate::lifecycle::exit::ExitCause;
use crate::lifecycle::restart::RestartPolicy;
use crate::time::{Duration, Instant};

/// The numbers of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceConfig {
    /// Ask the first worker what the model is before it loads it. Restarts know already.
    pub describe_first: bool,
    /// From the spawn to the worker's first word.
    pub handshake_timeout: Duration,
    /// From the worker's first word to the loaded model.
    pub load_timeout: Duration,
    /// For a worker that ends because its load failed.
    pub stop_timeout: Duration,
    pub restart: RestartPolicy,
    /// Decides the jitter of restarts.
    pub seed: u64,
}

impl Default for InstanceConfig {
    fn default() -> Self {
        Self {
            describe_first: false,
            handshake_timeout: Duration::from_secs(30),
            load_timeout: Duration::from_secs(600),
            stop_timeout: Duration::from_secs(10),
            restart: RestartPolicy::default(),
            seed: 0,
        }
    }
}

/// All that can happen to an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Begin. Only the first one counts.
    Start,
    /// The process could not be started.
    SpawnFailed { generation: Generation, error: String },
    /// The worker answered the handshake.
    Hello { generation: Generation },
    /// The model is described and its configuration complete.
    Described { generation: Generation },
    /// The worker has loaded the model.
    Loaded { generation: Generation },
    /// The worker cannot load the model, or there is no configuration to load it with.
    LoadFailed { generation: Generation, reason: String },
    /// The worker broke the protocol. The words follow "because it": "sent a packet that does not decode".
    Misbehaved { generation: Generation, what: String },
    /// One of its sockets is closed.
    Disconnected { generation: Generation },
    /// It must go: it hangs, or an operator says so.
    Condemn { generation: Generation, reason: String },
    /// The process is gone, and reaped.
    Exited { generation: Generation, cause: ExitCause },
    /// End for good by `deadline`. Another one may bring the deadline forward.
    Stop { deadline: Instant },
    /// Forget past deaths; if the instance is failed or waits, start again now.
    Reset,
}

impl Event {
    /// The generation that an event is about, if it is about a process.
    pub(super) const fn generation(&self) -> Option<Generation> {
        match self {
            Self::SpawnFailed { generation, .. }
            | Self::Hello { generation }
            | Self::Described { generation }
            | Self::Loaded { generation }
            | Self::LoadFailed { generation, .. }
            | Self::Misbehaved { generation, .. }
            | Self::Disconnected { generation }
            | Self::Condemn { generation, .. }
            | Self::Exited { generation, .. } => Some(*generation),
            Self::Start | Self::Stop { .. } | Self::Reset => None,
        }
    }
}

/// All that an instance asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a process and greet it.
    Spawn { generation: Generation },
    /// Ask the worker what the model is, complete the configuration, and say `Described`.
    SendDescribe { generation: Generation },
    /// Tell the worker to load.
    SendLoad { generation: Generation },
    /// Tell the worker to finish its work and exit.
    SendStop { generation: Generation },
    /// SIGTERM to its process group.
    Term { generation: Generation },
    /// SIGKILL to its process group.
    Kill { generation: Generation },
    /// It cannot be killed: forget the process.
    Abandon { generation: Generation },
    /// It takes work now.
    AnnounceUp { generation: Generation },
    /// It takes no more work; what it works on may finish.
    AnnounceDraining { generation: Generation },
    /// It does no work any more, and what it worked on is lost.
    AnnounceDown { generation: Generation, cause: ExitCause },
    /// For the records: the process ended this long after its start.
    ReportExit { generation: Generation, cause: ExitCause, age: Duration, expected: bool },
    /// For the records: the next start is this far away.
    ReportBackoff { delay: Duration },
    /// The first load failed; nothing of it is left, and it is not tried again.
    ReportLoadFailed { reason: String },
    /// It died too often, or could not be killed; it does not come back without a `Reset`.
    ReportFailed { reason: String },
    /// It is stopped, and nothing of it is left.
    ReportStopped,
}

/// What an instance is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    New,
    Starting(Stage),
    Ready,
    Draining,
    Dying,
    Backoff,
    Failed,
    Stopped,
}

/// How far a start has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Handshake,
    Describing,
    Loading,
}

impl State {
    /// The word that operators see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::Starting(_) => "STARTING",
            Self::Ready => "READY",
            Self::Draining => "DRAINING",
            Self::Dying => "DYING",
            Self::Backoff => "BACKOFF",
            Self::Failed => "FAILED",
            Self::Stopped => "STOPPED",
        }
    }
}
