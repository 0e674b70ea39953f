//! A model version as the sum of its instances.
//!
//! ```text
//!                 Load                all loaded
//!  Unavailable("") ──► Loading ──────────────────────► Ready
//!                       │   │                           │
//!        a load failed, │   │ Unload                    │ Unload
//!        the others are │   │                           ▼
//!        stopped        │   └──────────────────────► Unloading
//!                       ▼                               │ requests drained, instances stopped
//!              Unavailable(reason)         Unavailable("unloaded")
//! ```
//!
//! *Ready* is a state of the version: it was loaded and is not being unloaded. Whether it *is ready*, in the words of
//! the health protocol, is asked separately and answered by whether an instance can take a request now.
//!
//! An unload drains: first the requests, then the instances, both under the caller's one deadline. Passive instances
//! take no requests: they count neither for readiness, nor may their failure fail a load.
//!
//! Deliberately not here: which versions there should be (the repository's), and traffic moving from one to another.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ids::InstanceId;
use crate::machine::Machine;
use crate::time::{Duration, Instant};

/// Why a version is unavailable that was unloaded on request.
pub const UNLOADED: &str = "unloaded";

/// What a version consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionConfig {
    pub instances: Vec<Member>,
    /// How long instances get to stop after a failed load, and at most during an unload.
    pub stop_timeout: Duration,
}

/// One instance of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub instance: InstanceId,
    /// Loaded, but given no requests.
    pub passive: bool,
}

impl VersionConfig {
    /// That many instances, none of them passive, with the usual time to stop.
    #[must_use]
    pub fn of(instances: u32) -> Self {
        Self {
            instances: (0..instances).map(|id| Member { instance: InstanceId(id), passive: false }).collect(),
            stop_timeout: Duration::from_secs(10),
        }
    }
}

/// All that can happen to a version. The instance events are what the instances report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Begin. Only the first one counts.
    Load,
    /// The instance can take requests: it is loaded.
    InstanceUp { instance: InstanceId },
    /// It cannot, for now: it drains, or it died.
    InstanceDown { instance: InstanceId },
    /// Its first load failed.
    InstanceLoadFailed { instance: InstanceId, reason: String },
    /// It died too often and does not come back by itself.
    InstanceFailed { instance: InstanceId, reason: String },
    /// A worker for it was started: one that had failed was reset.
    InstanceStarting { instance: InstanceId },
    /// It is stopped.
    InstanceStopped { instance: InstanceId },
    /// End for good by `deadline`. Another one may bring the deadline forward.
    Unload { deadline: Instant },
    /// The scheduler has nothing left to do.
    Drained,
}

/// All that a version asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    StartInstance {
        instance: InstanceId,
    },
    StopInstance {
        instance: InstanceId,
        deadline: Instant,
    },
    /// The scheduler takes no more requests and says when the last one has ended.
    StopScheduler,
    /// The scheduler refuses what waits and what arrives.
    FailFast {
        reason: Arc<str>,
    },
    /// The scheduler lets requests wait for an instance again.
    StopFailFast,
    /// Whether it is ready has changed.
    Readiness {
        ready: bool,
    },
    /// The load is done.
    ReportLoaded,
    /// The load failed, and nothing of it is left.
    ReportLoadFailed {
        reason: String,
    },
    /// The unload is done, and nothing is left.
    ReportUnloaded,
}

/// The state that the repository index shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Loading,
    Ready,
    Unloading,
    Unavailable { reason: String },
}

impl State {
    /// Triton's word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Loading => "LOADING",
            Self::Ready => "READY",
            Self::Unloading => "UNLOADING",
            Self::Unavailable { .. } => "UNAVAILABLE",
        }
    }

    /// Why it is unavailable; empty in every other state.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Unavailable { reason } => reason,
            Self::Loading | Self::Ready | Self::Unloading => "",
        }
    }
}

#[derive(Debug)]
enum Phase {
    New,
    Loading,
    Ready,
    /// A load failed; the instances are being stopped.
    Failing {
        reason: String,
    },
    /// Requests may finish until `drain_until`.
    Draining {
        drain_until: Instant,
        deadline: Instant,
    },
    /// The instances are being stopped.
    Stopping,
    Gone {
        reason: String,
    },
}

#[derive(Debug)]
struct Standing {
    member: Member,
    up: bool,
    /// Its first load is over, well or (if it is passive) badly.
    settled: bool,
    /// Why it does not come back by itself.
    failed: Option<String>,
    stopped: bool,
}

/// One model version.
#[derive(Debug)]
pub struct Version {
    phase: Phase,
    members: Vec<Standing>,
    stop_timeout: Duration,
    ready: bool,
    failing_fast: bool,
    actions: VecDeque<Action>,
}

impl Version {
    /// A version that waits for [`Event::Load`].
    #[must_use]
    pub fn new(config: VersionConfig) -> Self {
        let standing = |member| Standing { member, up: false, settled: false, failed: None, stopped: false };
        Self {
            phase: Phase::New,
            members: config.instances.into_iter().map(standing).collect(),
            stop_timeout: config.stop_timeout,
            ready: false,
            failing_fast: false,
            actions: VecDeque::new(),
        }
    }

    /// The state that the repository index shows.
    #[must_use]
    pub fn state(&self) -> State {
        match &self.phase {
            Phase::New => State::Unavailable { reason: String::new() },
            Phase::Loading | Phase::Failing { .. } => State::Loading,
            Phase::Ready => State::Ready,
            Phase::Draining { .. } | Phase::Stopping => State::Unloading,
            Phase::Gone { reason } => State::Unavailable { reason: reason.clone() },
        }
    }

    /// Whether an instance can take a request now.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.ready
    }

    /// Instances that can take requests now, and all of them; passive ones do not count.
    #[must_use]
    pub fn instances(&self) -> (usize, usize) {
        let active = || self.members.iter().filter(|standing| !standing.member.passive);
        (active().filter(|standing| standing.up).count(), active().count())
    }

    fn load(&mut self) {
        self.phase = Phase::Loading;
        for standing in &self.members {
            self.actions.push_back(Action::StartInstance { instance: standing.member.instance });
        }
    }

    fn find(&mut self, instance: InstanceId) -> Option<&mut Standing> {
        self.members.iter_mut().find(|standing| standing.member.instance == instance)
    }

    fn instance_up(&mut self, instance: InstanceId) {
        if let Some(standing) = self.find(instance) {
            standing.up = true;
            standing.settled = true;
            standing.failed = None;
        }
    }

    /// A load failed, or an instance died too often.
    fn instance_failed(&mut self, now: Instant, instance: InstanceId, reason: String) {
        let Some(standing) = self.find(instance) else {
            return;
        };
        standing.up = false;
        standing.settled = true;
        standing.failed = Some(reason.clone());
        let counts = !standing.member.passive;
        if counts && matches!(self.phase, Phase::Loading) {
            self.refuse_all(&reason);
            self.phase = Phase::Failing { reason };
            self.stop_instances(now + self.stop_timeout);
        }
    }

    fn unload(&mut self, now: Instant, deadline: Instant) {
        match &mut self.phase {
            Phase::New => {
                self.phase = Phase::Gone { reason: UNLOADED.to_owned() };
                self.actions.push_back(Action::ReportUnloaded);
            }
            Phase::Loading => {
                self.phase = Phase::Stopping;
                let reason = "unloaded while it was being loaded".to_owned();
                self.refuse_all(&reason);
                self.actions.push_back(Action::ReportLoadFailed { reason });
                self.stop_instances(deadline);
            }
            Phase::Ready => {
                let drain_until = self.drain_until(now, deadline);
                self.phase = Phase::Draining { drain_until, deadline };
                self.actions.push_back(Action::StopScheduler);
            }
            Phase::Draining { deadline: earlier, .. } if deadline < *earlier => {
                let drain_until = self.drain_until(now, deadline);
                self.phase = Phase::Draining { drain_until, deadline };
            }
            Phase::Stopping | Phase::Failing { .. } => self.stop_instances(deadline),
            Phase::Draining { .. } | Phase::Gone { .. } => {}
        }
    }

    /// The instances need some of the time for themselves.
    fn drain_until(&self, now: Instant, deadline: Instant) -> Instant {
        let span = deadline - now;
        now + (span - self.stop_timeout.min(span / 2))
    }

    /// The requests have ended, or have had their time.
    fn drained(&mut self) {
        if let Phase::Draining { deadline, .. } = self.phase {
            self.phase = Phase::Stopping;
            self.stop_instances(deadline);
        }
    }

    /// Nobody will ever run what waits.
    fn refuse_all(&mut self, reason: &str) {
        self.actions.push_back(Action::FailFast { reason: reason.into() });
        self.actions.push_back(Action::StopScheduler);
    }

    fn stop_instances(&mut self, deadline: Instant) {
        for standing in self.members.iter().filter(|standing| !standing.stopped) {
            let instance = standing.member.instance;
            self.actions.push_back(Action::StopInstance { instance, deadline });
        }
    }

    /// Moves on when the sum of the instances allows it.
    fn settle(&mut self) {
        let all_stopped = self.members.iter().all(|standing| standing.stopped);
        match &mut self.phase {
            Phase::Loading if self.members.iter().all(|standing| standing.settled) => {
                self.phase = Phase::Ready;
                self.actions.push_back(Action::ReportLoaded);
            }
            Phase::Failing { reason } if all_stopped => {
                let reason = std::mem::take(reason);
                self.actions.push_back(Action::ReportLoadFailed { reason: reason.clone() });
                self.phase = Phase::Gone { reason };
            }
            Phase::Stopping if all_stopped => {
                self.actions.push_back(Action::ReportUnloaded);
                self.phase = Phase::Gone { reason: UNLOADED.to_owned() };
            }
            _ => {}
        }
        self.update_readiness();
        self.update_fail_fast();
    }

    fn update_readiness(&mut self) {
        let ready = matches!(self.phase, Phase::Ready) && self.instances().0 > 0;
        if ready != self.ready {
            self.ready = ready;
            self.actions.push_back(Action::Readiness { ready });
        }
    }

    /// Waiting makes no sense when nobody will come.
    fn update_fail_fast(&mut self) {
        if !matches!(self.phase, Phase::Ready | Phase::Draining { .. }) {
            return;
        }
        let mut reasons =
            self.members.iter().filter(|standing| !standing.member.passive).map(|standing| &standing.failed);
        let first = reasons.next().and_then(Option::as_deref);
        match first.filter(|_| reasons.all(Option::is_some)) {
            Some(reason) if !self.failing_fast => {
                self.failing_fast = true;
                self.actions.push_back(Action::FailFast { reason: reason.into() });
            }
            None if self.failing_fast => {
                self.failing_fast = false;
                self.actions.push_back(Action::StopFailFast);
            }
            Some(_) | None => {}
        }
    }
}

impl Machine for Version {
    type Event = Event;
    type Action = Action;

    fn handle(&mut self, now: Instant, event: Event) {
        match event {
            Event::Load if matches!(self.phase, Phase::New) => self.load(),
            Event::Load => {}
            Event::InstanceUp { instance } => self.instance_up(instance),
            Event::InstanceDown { instance } => {
                if let Some(standing) = self.find(instance) {
                    standing.up = false;
                }
            }
            Event::InstanceLoadFailed { instance, reason } | Event::InstanceFailed { instance, reason } => {
                self.instance_failed(now, instance, reason);
            }
            Event::InstanceStarting { instance } => {
                if let Some(standing) = self.find(instance) {
                    standing.failed = None;
                }
            }
            Event::InstanceStopped { instance } => {
                if let Some(standing) = self.find(instance) {
                    standing.up = false;
                    standing.stopped = true;
                }
            }
            Event::Unload { deadline } => self.unload(now, deadline),
            Event::Drained => self.drained(),
        }
        self.settle();
    }

    fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn next_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Draining { drain_until, .. } => Some(drain_until),
            _ => None,
        }
    }

    fn expire(&mut self, now: Instant) {
        if self.next_deadline().is_some_and(|deadline| deadline <= now) {
            let reason = "the model version is being unloaded and the time for its requests is over";
            self.actions.push_back(Action::FailFast { reason: reason.into() });
            self.drained();
            self.settle();
        }
    }
}

#[cfg(test)]
mod tests;
