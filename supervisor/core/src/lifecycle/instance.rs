//! The life of one instance of a model version, over the lives of its worker processes.
//!
//! ```text
//!            Start                Hello [Described] Loaded
//!   New ─────────────► Starting ───────────────────────────► Ready
//!    │                  ▲   │ │ load failed                   │ │ │
//!    │          Backoff─┘   │ │                       Stop    │ │ │ died
//!    │          (time) ▲    │ └───────────► Draining ◄────────┘ │ │
//!    │                 │    │ died,           │   │ ask, TERM   │ │
//!    │                 │    │ too late        │   ▼ KILL        │ │
//!    │                 │    └─────────────► Dying ◄─────────────┘ │
//!    │                 │                      │    condemned      │
//!    │                 │                      ▼                   │
//!    │                 └────────────────── (exited) ◄─────────────┘
//!    │ Stop                   restart       │     │
//!    ▼                                      │     │ first load failed, or died too often
//!  Stopped ◄────────────────────────────────┘     ▼
//!    ▲            was told to stop              Failed ──Reset──► Starting
//!    └────────────────────────Stop─────────────────┘
//! ```
//!
//! *Draining* has been asked to end and may finish its work; *Dying* is to be gone as fast as the kernel can do it, and
//! so is a worker that closed its sockets and has not exited yet. A worker that has exited is not a state: what follows
//! is decided at once. The first load decides whether the version can be loaded at all, so its failure is final and
//! reported; a later failure is a death like any other.
//!
//! Events and actions carry the generation of the process they are about. What is said about an earlier one is ignored.
//! A worker's words at the wrong time are a breach of protocol, and it is killed for them.
//!
//! Deliberately not here: whether requests ran and what becomes of them (the scheduler's), how a process is started,
//! signalled and watched (the async side's), and what a healthy worker is.

mod ending;
mod interface;

use std::collections::VecDeque;

use self::ending::{Ending, Then};
pub use self::interface::{Action, Event, InstanceConfig, Stage, State};
use super::escalate::Rung;
use super::exit::ExitCause;
use super::restart::{RestartPolicy, Restarts, Verdict};
use crate::ids::Generation;
use crate::machine::Machine;
use crate::time::{Duration, Instant};

#[derive(Debug)]
enum Phase {
    New,
    Starting { stage: Stage, deadline: Instant },
    Ready { since: Instant },
    Ending(Ending),
    Backoff { until: Instant },
    Failed,
    Stopped,
}

/// One instance.
#[derive(Debug)]
pub struct Instance {
    config: InstanceConfig,
    phase: Phase,
    generation: Generation,
    /// When the process of this generation was asked for.
    born: Instant,
    /// Whether the model was ever loaded: the first load is judged differently.
    was_ready: bool,
    /// Whether the configuration is known to be complete.
    described: bool,
    restarts: Restarts,
    last_exit: Option<ExitCause>,
    actions: VecDeque<Action>,
}

impl Instance {
    /// An instance that waits for [`Event::Start`].
    #[must_use]
    pub fn new(config: InstanceConfig) -> Self {
        let restarts = Restarts::new(config.restart, config.seed);
        Self {
            config,
            phase: Phase::New,
            generation: Generation(0),
            born: Instant::default(),
            was_ready: false,
            described: false,
            restarts,
            last_exit: None,
            actions: VecDeque::new(),
        }
    }

    /// What it is doing.
    #[must_use]
    pub const fn state(&self) -> State {
        match &self.phase {
            Phase::New => State::New,
            Phase::Starting { stage, .. } => State::Starting(*stage),
            Phase::Ready { .. } => State::Ready,
            Phase::Ending(ending) if ending.is_polite() => State::Draining,
            Phase::Ending(_) => State::Dying,
            Phase::Backoff { .. } => State::Backoff,
            Phase::Failed => State::Failed,
            Phase::Stopped => State::Stopped,
        }
    }

    /// The life that it is in, or the last one; 0 before the first.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// How often it was started again.
    #[must_use]
    pub const fn restarts(&self) -> u64 {
        self.generation.0.saturating_sub(1)
    }

    /// How the last life that is over ended.
    #[must_use]
    pub const fn last_exit(&self) -> Option<&ExitCause> {
        self.last_exit.as_ref()
    }

    fn spawn(&mut self, now: Instant) {
        self.generation = self.generation.next();
        self.born = now;
        self.phase =
            Phase::Starting { stage: Stage::Handshake, deadline: now + self.config.handshake_timeout };
        self.actions.push_back(Action::Spawn { generation: self.generation });
    }

    fn hello(&mut self, now: Instant) {
        let describe = self.config.describe_first && !self.described;
        self.load(now, if describe { Stage::Describing } else { Stage::Loading });
    }

    /// Describing counts as part of loading: one time for both.
    fn load(&mut self, now: Instant, next: Stage) {
        let generation = self.generation;
        match &mut self.phase {
            Phase::Starting { stage: Stage::Handshake, .. } => {
                self.phase = Phase::Starting { stage: next, deadline: now + self.config.load_timeout };
            }
            Phase::Starting { stage, .. } => *stage = next,
            _ => return,
        }
        if next == Stage::Describing {
            self.actions.push_back(Action::SendDescribe { generation });
        } else {
            self.described = true;
            self.actions.push_back(Action::SendLoad { generation });
        }
    }

    fn loaded(&mut self, now: Instant) {
        self.was_ready = true;
        self.phase = Phase::Ready { since: now };
        self.actions.push_back(Action::AnnounceUp { generation: self.generation });
    }

    /// For how long it has been ready, if it is.
    fn uptime(&self, now: Instant) -> Option<Duration> {
        match self.phase {
            Phase::Ready { since } => Some(now - since),
            _ => None,
        }
    }

    /// The worker cannot load: it may clean up, and is judged when it is gone.
    fn load_failed(&mut self, now: Instant, reason: String) {
        let cause = ExitCause::LoadFailed(reason);
        let deadline = now + self.config.stop_timeout;
        self.actions.push_back(Action::SendStop { generation: self.generation });
        self.end(now, Ending::asked(now, deadline, Then::Judge, None).because(cause));
    }

    /// A worker that must not live on.
    fn condemn(&mut self, now: Instant, cause: ExitCause) {
        match &mut self.phase {
            Phase::Starting { .. } | Phase::Ready { .. } => {
                let ending = Ending::condemned(now, Duration::ZERO, self.uptime(now)).because(cause);
                self.end(now, ending);
            }
            Phase::Ending(ending) if ending.is_polite() => {
                ending.condemn(now, cause);
                self.climb(now);
            }
            _ => {}
        }
    }

    /// The sockets close a moment before the process is seen to be gone; how it ended is worth that moment.
    fn disconnected(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Starting { .. } | Phase::Ready { .. }) {
            if matches!(self.phase, Phase::Ready { .. }) {
                self.actions.push_back(Action::AnnounceDraining { generation: self.generation });
            }
            let ending = Ending::condemned(now, ending::EXIT_GRACE, self.uptime(now));
            self.end(now, ending);
        }
    }

    fn stop(&mut self, now: Instant, deadline: Instant) {
        let generation = self.generation;
        match &mut self.phase {
            Phase::New | Phase::Backoff { .. } | Phase::Failed => self.stopped(),
            Phase::Starting { .. } => {
                self.end(now, Ending::terminated(now, deadline, Then::Stop));
            }
            Phase::Ready { .. } => {
                self.actions.push_back(Action::AnnounceDraining { generation });
                self.actions.push_back(Action::SendStop { generation });
                self.end(now, Ending::asked(now, deadline, Then::Stop, self.uptime(now)));
            }
            Phase::Ending(ending) => {
                ending.stop(now, deadline);
                self.climb(now);
            }
            Phase::Stopped => {}
        }
    }

    fn reset(&mut self, now: Instant) {
        self.restarts.reset();
        if matches!(self.phase, Phase::Failed | Phase::Backoff { .. }) {
            self.spawn(now);
        }
    }

    fn end(&mut self, now: Instant, ending: Ending) {
        self.phase = Phase::Ending(ending);
        self.climb(now);
    }

    /// Does what the ladder says is due.
    fn climb(&mut self, now: Instant) {
        let generation = self.generation;
        while let Phase::Ending(ending) = &mut self.phase
            && let Some(rung) = ending.climb(now)
        {
            match rung {
                Rung::Term => self.actions.push_back(Action::Term { generation }),
                Rung::Kill => {
                    self.actions.push_back(Action::Kill { generation });
                    if let Some(cause) = ending.take_down() {
                        self.actions.push_back(Action::AnnounceDown { generation, cause });
                    }
                }
                Rung::GiveUp => {
                    let cause = ExitCause::Undead(ending.since_kill(now));
                    self.actions.push_back(Action::Abandon { generation });
                    self.gone(now, cause, true);
                }
            }
        }
    }

    /// The process is gone, or given up.
    fn gone(&mut self, now: Instant, cause: ExitCause, undead: bool) {
        let generation = self.generation;
        let (cause, then, uptime, announce) = match &mut self.phase {
            Phase::Starting { .. } => (cause, Then::Judge, None, false),
            Phase::Ready { since } => (cause, Then::Judge, Some(now - *since), true),
            Phase::Ending(ending) => {
                let cause = if undead { cause } else { ending.cause_or(cause) };
                (cause, ending.then(), ending.uptime(), ending.take_down().is_some())
            }
            _ => return,
        };
        if announce {
            self.actions.push_back(Action::AnnounceDown { generation, cause: cause.clone() });
        }
        let expected = matches!(then, Then::Stop);
        let age = now - self.born;
        self.actions.push_back(Action::ReportExit { generation, cause: cause.clone(), age, expected });
        match then {
            Then::Stop => self.stopped(),
            Then::Judge => self.judge(now, &cause, uptime.unwrap_or_default(), undead),
        }
        self.last_exit = Some(cause);
    }

    fn judge(&mut self, now: Instant, cause: &ExitCause, uptime: Duration, undead: bool) {
        if !self.was_ready {
            self.phase = Phase::Failed;
            self.actions.push_back(Action::ReportLoadFailed { reason: cause.as_load_failure() });
            return;
        }
        match self.restarts.died(now, uptime) {
            // Starting another one beside a process that still holds memory and devices would make things worse.
            Verdict::RestartAfter(_) if undead => self.fail(format!("worker {cause}")),
            Verdict::RestartAfter(delay) => {
                self.actions.push_back(Action::ReportBackoff { delay });
                if delay.is_zero() {
                    self.spawn(now);
                } else {
                    self.phase = Phase::Backoff { until: now + delay };
                }
            }
            Verdict::GiveUp => {
                let RestartPolicy { deaths_max, window, .. } = self.config.restart;
                self.fail(format!(
                    "worker died {deaths_max} times within {window:?} and is not started again before the server \
                     is; last it {cause}"
                ));
            }
        }
    }

    fn fail(&mut self, reason: String) {
        self.phase = Phase::Failed;
        self.actions.push_back(Action::ReportFailed { reason });
    }

    fn stopped(&mut self) {
        self.phase = Phase::Stopped;
        self.actions.push_back(Action::ReportStopped);
    }

    /// What the worker says, by what it may say now.
    fn heard(&mut self, now: Instant, word: &Word) {
        match (&self.phase, word) {
            (Phase::Starting { stage: Stage::Handshake, .. }, Word::Hello) => self.hello(now),
            (Phase::Starting { stage: Stage::Describing, .. }, Word::Described) => {
                self.load(now, Stage::Loading);
            }
            (Phase::Starting { stage: Stage::Loading, .. }, Word::Loaded) => self.loaded(now),
            (Phase::Starting { .. } | Phase::Ready { .. }, word) => {
                let what = format!("said {word:?} while {}", self.state().as_str());
                self.condemn(now, ExitCause::ProtocolError(what));
            }
            // It is on its way out; what it says was sent before it knew.
            _ => {}
        }
    }
}

/// A worker's words about its start.
#[derive(Debug)]
enum Word {
    Hello,
    Described,
    Loaded,
    LoadFailed,
}

impl Machine for Instance {
    type Event = Event;
    type Action = Action;

    fn handle(&mut self, now: Instant, event: Event) {
        if event.generation().is_some_and(|generation| generation != self.generation) {
            return;
        }
        match event {
            Event::Start if matches!(self.phase, Phase::New) => self.spawn(now),
            Event::Start => {}
            Event::SpawnFailed { error, .. } if !matches!(self.phase, Phase::Ready { .. }) => {
                self.gone(now, ExitCause::NotStarted(error), false);
            }
            Event::SpawnFailed { .. } => {}
            Event::Hello { .. } => self.heard(now, &Word::Hello),
            Event::Described { .. } => self.heard(now, &Word::Described),
            Event::Loaded { .. } => self.heard(now, &Word::Loaded),
            Event::LoadFailed { reason, .. } if matches!(self.phase, Phase::Starting { .. }) => {
                self.load_failed(now, reason);
            }
            Event::LoadFailed { .. } => self.heard(now, &Word::LoadFailed),
            Event::Misbehaved { what, .. } => self.condemn(now, ExitCause::ProtocolError(what)),
            Event::Disconnected { .. } => self.disconnected(now),
            Event::Condemn { reason, .. } => self.condemn(now, ExitCause::KilledBy(reason)),
            Event::Exited { cause, .. } => self.gone(now, cause, false),
            Event::Stop { deadline } => self.stop(now, deadline),
            Event::Reset => self.reset(now),
        }
    }

    fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn next_deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Starting { deadline, .. } => Some(*deadline),
            Phase::Ending(ending) => ending.next_deadline(),
            Phase::Backoff { until } => Some(*until),
            Phase::New | Phase::Ready { .. } | Phase::Failed | Phase::Stopped => None,
        }
    }

    fn expire(&mut self, now: Instant) {
        if self.next_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        match &self.phase {
            Phase::Starting { stage: Stage::Handshake, .. } => {
                self.condemn(now, ExitCause::HandshakeTimeout(self.config.handshake_timeout));
            }
            Phase::Starting { .. } => self.condemn(now, ExitCause::LoadTimeout(self.config.load_timeout)),
            Phase::Ending(_) => self.climb(now),
            Phase::Backoff { .. } => self.spawn(now),
            Phase::New | Phase::Ready { .. } | Phase::Failed | Phase::Stopped => {}
        }
    }
}

#[cfg(test)]
mod tests;
