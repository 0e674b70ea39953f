//! A living worker, as far as its instance's task owns it, and what is told when it has died.
//!
//! What happens in a life, and what follows its end, is decided elsewhere.

use std::sync::Arc;
use std::time::Duration;

use nereid_core::time::Instant;
use nereid_ipc::channel::{AsyncChannel, Channel};
use nereid_ipc::sys::worker_process::WorkerProcess;
use nereid_proto::admin;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::exec::Spawned;
use super::logs::{self, Origin, Relay, Stream};
use super::rate::Rate;
use super::resources::Resources;
use crate::clock;
use crate::observe::crashes::Crashes;

/// Control packets, log lines aside, that a worker may send in a second. It has a handful to say.
const PACKETS_PER_SECOND_MAX: u32 = 10_000;
/// Log lines that are read in a second. A model that logs in a loop is no fault, but it waits for the next second then.
const LOGS_PER_SECOND_MAX: u32 = 10_000;
/// How long a crash report waits for the last lines. A process that the worker started may hold the pipes for longer.
const LAST_LINES_WAIT: Duration = Duration::from_millis(50);
/// How long it waits for the names of the requests. The model's task never takes that long.
const HELD_WAIT: Duration = Duration::from_secs(1);

/// See the module's text.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) process: WorkerProcess,
    pub(super) resources: Resources,
    /// `None` after it was closed.
    pub(super) control: Option<AsyncChannel>,
    /// Goes to the model's task when the model is loaded.
    pub(super) execution: Option<Channel>,
    pub(super) relay: Relay,
    pub(super) last_words: Option<String>,
    /// They read its output, and end with it.
    followers: Vec<JoinHandle<()>>,
    packets: Rate,
    logs: Rate,
    /// Until then nothing is read from its control socket.
    pub(super) quiet_until: Option<Instant>,
    /// It has exited; what it said before is still read.
    ended: bool,
}

impl Life {
    /// Watches a process that has just been started. The error says what is missing; the process is gone then.
    pub(super) fn begin(spawned: Spawned, origin: Origin) -> Result<Self, String> {
        let Spawned { mut process, control, execution, resources } = spawned;
        process.watch().map_err(|error| format!("no watch over its end: {error}"))?;
        let relay = Relay::new(origin);
        let mut followers = Vec::new();
        for (pipe, stream) in
            [(process.take_stdout(), Stream::Stdout), (process.take_stderr(), Stream::Stderr)]
        {
            if let Some(pipe) = pipe {
                let follower = logs::follow(pipe, stream, relay.clone())
                    .map_err(|error| format!("no pipe for its output: {error}"))?;
                followers.push(follower);
            }
        }
        let control = AsyncChannel::new(control).map_err(|error| format!("no control socket: {error}"))?;
        Ok(Self {
            process,
            resources,
            control: Some(control),
            execution: Some(execution),
            relay,
            last_words: None,
            followers,
            packets: Rate::per_second(PACKETS_PER_SECOND_MAX),
            logs: Rate::per_second(LOGS_PER_SECOND_MAX),
            quiet_until: None,
            ended: false,
        })
    }

    /// Counts a packet that came over the control socket. The error says that there are too many; nobody listens to it
    /// from then on.
    pub(super) fn count_packet(&mut self, now: Instant, is_log: bool) -> Result<(), String> {
        if is_log {
            if !self.logs.allows(now) && self.ended {
                // Another process holds its socket.
                self.control = None;
            } else if self.logs.is_used_up() && !self.ended {
                self.quiet_until = Some(self.logs.turns_at());
            }
            return Ok(());
        }
        if self.packets.allows(now) {
            return Ok(());
        }
        self.control = None;
        Err(format!(
            "floods its control socket: it sent more than {PACKETS_PER_SECOND_MAX} packets within a second"
        ))
    }

    /// It has exited. Whether it was not listened to, and is now: its last words may be among what it had said.
    pub(super) fn has_more_to_hear(&mut self) -> bool {
        let first = !std::mem::replace(&mut self.ended, true);
        self.quiet_until.take().is_some() && first
    }

    /// What stderr said last, once all of it was read or it took too long.
    async fn last_lines(self) -> String {
        let Self { process, relay, followers, .. } = self;
        // It has ended, or nobody waits for that any more.
        drop(process);
        let ended = async {
            for follower in followers {
                // A panic there has been told; the lines before it are kept.
                let _ = follower.await;
            }
        };
        // Too late or not, what there is is told.
        let _ = tokio::time::timeout(LAST_LINES_WAIT, ended).await;
        relay.last_lines().snapshot().join("\n")
    }
}

/// A death that nobody asked for.
#[derive(Debug)]
pub(super) struct Crash {
    pub(super) origin: Origin,
    pub(super) version: i64,
    /// 0 when there was no process.
    pub(super) pid: u32,
    pub(super) age: Duration,
    pub(super) cause: String,
    pub(super) kind: &'static str,
    /// From the model's task, if it holds requests of this worker: which.
    pub(super) held: Option<oneshot::Receiver<Vec<String>>>,
}

impl Crash {
    /// Tells the log and the records, with what is left of the worker's words. Gives its last lines on stderr.
    pub(super) async fn report(self, life: Option<Life>, crashes: Arc<Crashes>) -> String {
        let Self { origin: Origin { model, instance, generation }, version, pid, age, cause, kind, held } =
            self;
        let at_ms = clock::epoch_ms();
        let (last_words, stderr) = match life {
            Some(mut life) => (life.last_words.take().unwrap_or_default(), life.last_lines().await),
            None => Default::default(),
        };
        let requests = match held {
            Some(held) => {
                tokio::time::timeout(HELD_WAIT, held).await.ok().and_then(Result::ok).unwrap_or_default()
            }
            None => Vec::new(),
        };
        tracing::error!(
            model,
            instance,
            generation,
            pid,
            ?age,
            last_words,
            ?requests,
            stderr,
            "worker {cause}"
        );
        crashes.add(admin::Crash {
            at_ms,
            model,
            version,
            instance,
            generation,
            pid,
            cause,
            kind: kind.to_owned(),
            uptime_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
            last_words,
            stderr: stderr.lines().map(ToOwned::to_owned).collect(),
            requests,
            ..admin::Crash::default()
        });
        stderr
    }
}

/// A worker that ends before it can say why its load failed has often left the reason on stderr.
pub(super) fn with_last_line(reason: String, stderr: &str) -> String {
    match stderr.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) if reason.starts_with("worker ") => format!("{reason}; its last line was: {line}"),
        _ => reason,
    }
}
