//! What must be true of the actions, whatever the machines think.
//!
//! The oracle keeps its own books from the events that the world delivers and the actions that come back. It has the
//! rules of the queue in their plainest form and none of the machines' code.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use nereid_core::ids::{BatchId, Generation, InstanceId, Ticket};
use nereid_core::schedule::{BatchPolicy, QueuedRequest, RejectReason, TimeoutAction};
use nereid_core::time::Instant;

use super::load::Plan;

pub(crate) type Check = Result<(), String>;

macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}

/// What has happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) arrived: u64,
    pub(crate) finished: u64,
    pub(crate) lost: u64,
    pub(crate) queue_full: u64,
    pub(crate) timed_out: u64,
    pub(crate) cancelled: u64,
    pub(crate) stopping: u64,
    pub(crate) unavailable: u64,
    pub(crate) cancelled_running: u64,
    pub(crate) batches: u64,
    pub(crate) batches_of_several: u64,
    pub(crate) restarts: u64,
    pub(crate) given_up: u64,
    pub(crate) load_failures: u64,
    pub(crate) abandoned: u64,
}

impl Summary {
    fn fields(&mut self) -> [&mut u64; 15] {
        [
            &mut self.arrived,
            &mut self.finished,
            &mut self.lost,
            &mut self.queue_full,
            &mut self.timed_out,
            &mut self.cancelled,
            &mut self.stopping,
            &mut self.unavailable,
            &mut self.cancelled_running,
            &mut self.batches,
            &mut self.batches_of_several,
            &mut self.restarts,
            &mut self.given_up,
            &mut self.load_failures,
            &mut self.abandoned,
        ]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, part) in self.fields().into_iter().zip(other.clone().fields()) {
            *sum += *part;
        }
    }

    /// A simulator in which something never happens says nothing about it.
    pub(crate) fn assert_everything_happened(&mut self) {
        let summary = self.clone();
        assert!(self.fields().iter().all(|count| **count > 0), "something never happened: {summary:?}");
    }

    pub(crate) fn ended(&self) -> u64 {
        let refused = self.queue_full + self.timed_out + self.cancelled + self.stopping + self.unavailable;
        self.finished + self.lost + refused
    }
}

#[derive(Debug)]
struct Known {
    level: usize,
    rows: u64,
    shape_key: u64,
    arrived: Instant,
    deadline: Option<Instant>,
    cancelled: bool,
    /// Its instance knows that it is cancelled.
    told: bool,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Queued,
    Running(InstanceId),
}

#[derive(Debug, Default)]
struct Host {
    up: bool,
    /// Takes work: up and not draining.
    open: bool,
    batches: BTreeMap<BatchId, Vec<Ticket>>,
    /// Went down with it, and is not yet reported lost.
    to_lose: Vec<Ticket>,
    generation: u64,
    process: bool,
}

/// The books.
#[derive(Debug)]
pub(crate) struct Oracle {
    plan: Plan,
    /// Those that have not ended.
    tickets: HashMap<Ticket, Known>,
    /// By level, in the order of arrival.
    queues: Vec<BTreeSet<Ticket>>,
    hosts: BTreeMap<InstanceId, Host>,
    last_batch: u64,
    refusing: bool,
    stopped: bool,
    drained: bool,
    pub(crate) summary: Summary,
}

impl Oracle {
    pub(crate) fn new(plan: Plan) -> Self {
        Self {
            queues: plan.levels.iter().map(|_| BTreeSet::new()).collect(),
            hosts: (0..plan.instances).map(|id| (InstanceId(id), Host::default())).collect(),
            plan,
            tickets: HashMap::new(),
            last_batch: 0,
            refusing: false,
            stopped: false,
            drained: false,
            summary: Summary::default(),
        }
    }

    fn host(&mut self, instance: InstanceId) -> Result<&mut Host, String> {
        self.hosts.get_mut(&instance).ok_or_else(|| format!("no instance {instance}"))
    }

    // What the world tells.

    pub(crate) fn arrives(&mut self, now: Instant, request: &QueuedRequest) {
        let level = self.plan.level_of(request.priority);
        let policy = self.plan.levels[level];
        let default = Some(policy.default_timeout).filter(|timeout| !timeout.is_zero());
        let asked = request.timeout.filter(|_| policy.allow_timeout_override);
        let timeout = [default, asked].into_iter().flatten().min();
        let known = Known {
            level,
            rows: u64::from(request.batch_size),
            shape_key: request.shape_key,
            arrived: now,
            deadline: timeout.map(|timeout| now + timeout),
            cancelled: false,
            told: false,
            place: Place::Queued,
        };
        self.tickets.insert(request.ticket, known);
        self.queues[level].insert(request.ticket);
        self.summary.arrived += 1;
    }

    pub(crate) fn cancels(&mut self, ticket: Ticket) {
        if let Some(known) = self.tickets.get_mut(&ticket) {
            known.cancelled = true;
        }
    }

    pub(crate) fn up(&mut self, instance: InstanceId) -> Check {
        let host = self.host(instance)?;
        ensure!(!host.up && host.process, "instance {instance} is up twice, or without a process");
        host.up = true;
        host.open = true;
        self.refusing = false;
        Ok(())
    }

    pub(crate) fn closes(&mut self, instance: InstanceId) -> Check {
        self.host(instance)?.open = false;
        Ok(())
    }

    pub(crate) fn down(&mut self, instance: InstanceId) -> Check {
        let host = self.host(instance)?;
        ensure!(host.up, "instance {instance} goes down and was not up");
        host.up = false;
        host.open = false;
        host.to_lose = std::mem::take(&mut host.batches).into_values().flatten().collect();
        Ok(())
    }

    pub(crate) fn finishes(&mut self, instance: InstanceId, batch: BatchId) -> Check {
        for ticket in self.host(instance)?.batches.remove(&batch).unwrap_or_default() {
            ensure!(self.tickets.remove(&ticket).is_some(), "{ticket} ended twice");
            self.summary.finished += 1;
        }
        Ok(())
    }

    pub(crate) fn refuses(&mut self, refusing: bool) {
        self.refusing = refusing;
    }

    pub(crate) fn stops(&mut self) {
        self.stopped = true;
    }

    pub(crate) fn spawned(&mut self, instance: InstanceId, generation: Generation) -> Check {
        let host = self.host(instance)?;
        ensure!(!host.process, "instance {instance} has two processes");
        ensure!(generation.0 == host.generation + 1, "generation {generation} of {instance} does not follow");
        host.generation = generation.0;
        host.process = true;
        self.summary.restarts += u64::from(generation.0 > 1);
        Ok(())
    }

    pub(crate) fn gone(&mut self, instance: InstanceId) -> Check {
        let host = self.host(instance)?;
        ensure!(host.process && !host.up, "instance {instance} is gone and was not taken down");
        host.process = false;
        Ok(())
    }

    // What the scheduler asks for.

    pub(crate) fn runs(
        &mut self,
        now: Instant,
        instance: InstanceId,
        batch: BatchId,
        tickets: &[Ticket],
    ) -> Check {
        ensure!(!tickets.is_empty(), "batch {batch} is empty");
        ensure!(batch.0 > self.last_batch, "batch numbers do not rise");
        self.last_batch = batch.0;
        let slots = usize::try_from(self.plan.slots).unwrap_or(usize::MAX);
        let host = self.host(instance)?;
        ensure!(host.open, "batch {batch} for {instance}, which takes no work");
        ensure!(host.batches.len() < slots, "batch {batch} for {instance}, which has no free slot");
        let idle = host.batches.is_empty();
        host.batches.insert(batch, tickets.to_vec());
        let mut rows = 0;
        let mut shapes = HashSet::new();
        for &ticket in tickets {
            self.check_order(now, ticket)?;
            let known =
                self.tickets.get_mut(&ticket).ok_or_else(|| format!("{ticket} runs and has ended"))?;
            ensure!(known.place == Place::Queued, "{ticket} runs twice");
            known.place = Place::Running(instance);
            rows += known.rows;
            shapes.insert(known.shape_key);
            let (level, deadline) = (known.level, known.deadline);
            let rejects = self.plan.levels[level].timeout_action == TimeoutAction::Reject;
            ensure!(!rejects || deadline.is_none_or(|deadline| now < deadline), "{ticket} runs too late");
            self.queues[level].remove(&ticket);
        }
        let limit = self.plan.batch.as_ref().map_or(1, BatchPolicy::max_batch_size);
        ensure!(rows <= limit || tickets.len() == 1, "batch {batch} has {rows} rows of {limit}");
        ensure!(shapes.len() == 1, "batch {batch} mixes shapes");
        ensure!(self.plan.batch.is_some() || tickets.len() == 1, "a direct batch of several");
        ensure!(
            idle || self.is_full(rows, tickets.len()),
            "batch {batch} could grow and is put behind another"
        );
        self.summary.batches += 1;
        self.summary.batches_of_several += u64::from(tickets.len() > 1);
        Ok(())
    }

    /// Nobody of the same or a higher level has waited for longer. Delayed requests are another matter, and so are the
    /// later ones of a burst, which may not have been queued when this one was chosen.
    fn check_order(&self, now: Instant, ticket: Ticket) -> Check {
        let Some(known) = self.tickets.get(&ticket) else { return Err(format!("{ticket} is not known")) };
        for level in 0..=known.level {
            if self.plan.levels[level].timeout_action == TimeoutAction::Delay {
                continue;
            }
            if let Some(&first) = self.queues[level].first() {
                let just_arrived =
                    first > ticket && self.tickets.get(&first).is_some_and(|known| known.arrived == now);
                let in_turn = level == known.level && first == ticket;
                ensure!(in_turn || just_arrived, "{ticket} runs before {first}");
            }
        }
        Ok(())
    }

    /// Whether nothing that waits, or could come, would have to join a batch that was sent.
    fn is_full(&self, rows: u64, requests: usize) -> bool {
        let Some(policy) = &self.plan.batch else { return requests == 1 };
        // What stopped it is not booked here; a batch that others wait behind was stopped by something.
        rows >= policy.max_preferred()
            || policy.is_preferred(rows)
            || self.queues.iter().any(|queue| !queue.is_empty())
    }

    pub(crate) fn loses(&mut self, ticket: Ticket, instance: InstanceId) -> Check {
        let host = self.host(instance)?;
        let index = host.to_lose.iter().position(|&lost| lost == ticket);
        let Some(index) = index else {
            return Err(format!("{ticket} is lost, and {instance} did not have it"));
        };
        host.to_lose.swap_remove(index);
        let known = self.tickets.remove(&ticket).ok_or_else(|| format!("{ticket} ended twice"))?;
        ensure!(known.place == Place::Running(instance), "{ticket} is lost where it did not run");
        self.summary.lost += 1;
        Ok(())
    }

    pub(crate) fn cancels_running(&mut self, ticket: Ticket, instance: InstanceId) -> Check {
        let known = self.tickets.get_mut(&ticket).ok_or_else(|| format!("{ticket} has ended"))?;
        ensure!(known.place == Place::Running(instance), "{ticket} does not run on {instance}");
        ensure!(known.cancelled && !known.told, "{ticket} is cancelled without a word, or twice");
        known.told = true;
        self.summary.cancelled_running += 1;
        Ok(())
    }

    pub(crate) fn rejects(&mut self, now: Instant, ticket: Ticket, reason: &RejectReason) -> Check {
        let known = self.tickets.remove(&ticket).ok_or_else(|| format!("{ticket} ended twice"))?;
        ensure!(known.place == Place::Queued, "{ticket} is rejected and runs");
        self.queues[known.level].remove(&ticket);
        let policy = self.plan.levels[known.level];
        let eager = self.plan.batch.as_ref().is_none_or(|batch| batch.max_delay().is_zero());
        let could_run = eager && self.hosts.values().any(|host| self.has_room(host));
        let summary = &mut self.summary;
        let (count, fair) = match reason {
            RejectReason::QueueFull => {
                let limit = usize::try_from(policy.max_queue_size).unwrap_or(usize::MAX);
                // Later ones of the same burst are booked already and have not been queued yet.
                let before = self.queues[known.level].range(..ticket).count();
                (&mut summary.queue_full, limit > 0 && before == limit && !could_run)
            }
            RejectReason::TimedOut => {
                let rejects = policy.timeout_action == TimeoutAction::Reject;
                (&mut summary.timed_out, rejects && known.deadline.is_some_and(|deadline| deadline <= now))
            }
            RejectReason::Cancelled => (&mut summary.cancelled, known.cancelled),
            RejectReason::Stopping => (&mut summary.stopping, self.stopped),
            RejectReason::Unavailable(_) => (&mut summary.unavailable, self.refusing),
        };
        *count += 1;
        ensure!(fair, "{ticket} is rejected without need: {reason:?}");
        Ok(())
    }

    pub(crate) fn drains(&mut self) -> Check {
        ensure!(self.stopped && !self.drained, "drained twice, or without a stop");
        ensure!(self.tickets.is_empty(), "drained with {} open tickets", self.tickets.len());
        self.drained = true;
        Ok(())
    }

    /// Whether it would take whatever waits.
    fn has_room(&self, host: &Host) -> bool {
        let slots = usize::try_from(self.plan.slots).unwrap_or(usize::MAX);
        match self.plan.batch {
            Some(_) => host.open && host.batches.is_empty(),
            None => host.open && host.batches.len() < slots,
        }
    }

    // What holds when all is said.

    /// The scheduler has nothing more to say now. `slack`: timers may be that late.
    pub(crate) fn settled(&self, now: Instant, slack: u64) -> Check {
        for (level, queue) in self.queues.iter().enumerate() {
            let limit = usize::try_from(self.plan.levels[level].max_queue_size).unwrap_or(usize::MAX);
            ensure!(limit == 0 || queue.len() <= limit, "{} requests wait in level {level}", queue.len());
        }
        for (instance, host) in &self.hosts {
            ensure!(host.to_lose.is_empty(), "{:?} died with {instance} and are not lost", host.to_lose);
        }
        let waits = self.queues.iter().flatten().filter_map(|ticket| self.tickets.get(ticket));
        if let Some(oldest) = waits.map(|known| known.arrived).min()
            && self.hosts.values().any(|host| self.has_room(host))
        {
            let held = self.plan.batch.as_ref().map_or(0, |batch| batch.max_delay().as_nanos());
            let waited = (now - oldest).as_nanos();
            ensure!(waited < held + u128::from(slack) * 1_000, "one waits for {waited} ns and there is room");
        }
        Ok(())
    }

    /// The world has come to rest.
    pub(crate) fn rests(&self) -> Check {
        ensure!(self.tickets.is_empty(), "{} tickets never ended", self.tickets.len());
        ensure!(self.drained, "the scheduler was never drained");
        for (instance, host) in &self.hosts {
            ensure!(!host.process && !host.up, "something is left of {instance}");
        }
        ensure!(self.summary.ended() == self.summary.arrived, "ends do not add up: {:?}", self.summary);
        Ok(())
    }
}
