//! The loop: jump to the next event or deadline, deliver it, perform what the machines ask for, let the oracle judge.

use nereid_core::ids::{BatchId, Generation, InstanceId, Ticket};
use nereid_core::lifecycle::random::SplitMix64;
use nereid_core::lifecycle::version::{self, State, Version, VersionConfig};
use nereid_core::lifecycle::{ExitCause, Instance, InstanceConfig, instance};
use nereid_core::machine::Machine;
use nereid_core::schedule::{self, Scheduler};
use nereid_core::stats::{ComputeTime, FailureReason, VersionStats};
use nereid_core::time::{Duration, Instant};

use super::clock::Timeline;
use super::load::Plan;
use super::oracle::{Check, Oracle, Summary};
use super::worker::{Deed, Order, Worker, around, chance};

/// A world that takes more steps than this does not come to rest.
const STEPS_MAX: u32 = 200_000;

#[derive(Debug)]
enum Occurrence {
    Arrivals,
    Cancel(Ticket),
    Deed {
        instance: InstanceId,
        generation: Generation,
        deed: Deed,
    },
    /// Its sockets are seen to be closed.
    Closed {
        instance: InstanceId,
        generation: Generation,
    },
    /// Its exit is seen.
    Reaped {
        instance: InstanceId,
        generation: Generation,
        cause: ExitCause,
    },
    /// A batch has had its time.
    Overdue {
        instance: InstanceId,
        generation: Generation,
        batch: BatchId,
    },
    Reset(InstanceId),
    Unload,
}

struct Site {
    machine: Instance,
    worker: Option<Worker>,
    running: Vec<BatchId>,
}

/// All there is.
pub(crate) struct World {
    plan: Plan,
    random: SplitMix64,
    timeline: Timeline<Occurrence>,
    scheduler: Scheduler,
    version: Version,
    sites: Vec<Site>,
    oracle: Oracle,
    stats: VersionStats,
    next_ticket: u64,
    trace: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(seed: u64, traced: bool) -> Self {
        let mut random = SplitMix64::new(seed);
        let plan = Plan::new(&mut random);
        let site = |number: u32| Site {
            machine: Instance::new(InstanceConfig {
                load_timeout: Duration::from_secs(3),
                handshake_timeout: Duration::from_secs(1),
                stop_timeout: Duration::from_secs(2),
                seed: seed.wrapping_add(u64::from(number)),
                ..InstanceConfig::default()
            }),
            worker: None,
            running: Vec::new(),
        };
        let config =
            VersionConfig { stop_timeout: Duration::from_secs(5), ..VersionConfig::of(plan.instances) };
        Self {
            sites: (0..plan.instances).map(site).collect(),
            version: Version::new(config),
            scheduler: Scheduler::new(plan.scheduler()),
            oracle: Oracle::new(plan.clone()),
            stats: VersionStats::default(),
            timeline: Timeline::new(),
            next_ticket: 0,
            trace: traced.then(Vec::new),
            random,
            plan,
        }
    }

    pub(crate) fn trace(&self) -> &[String] {
        self.trace.as_deref().unwrap_or_default()
    }

    pub(crate) fn describe(&self) -> String {
        format!("{:#?}", self.plan)
    }

    /// Until nothing happens any more.
    pub(crate) fn run(&mut self) -> Result<Summary, String> {
        self.timeline.plan(Duration::from_millis(self.random.below(400)), Occurrence::Arrivals);
        self.version.handle(self.now(), version::Event::Load);
        self.settle()?;
        for _ in 0..STEPS_MAX {
            if !self.step()? {
                return self.rest();
            }
        }
        Err(format!("the world does not come to rest within {STEPS_MAX} steps"))
    }

    fn rest(&self) -> Result<Summary, String> {
        self.oracle.rests()?;
        let State::Unavailable { .. } = self.version.state() else {
            return Err(format!("the version rests as {:?}", self.version.state()));
        };
        let summary = &self.oracle.summary;
        let counted = self.stats.inference().success.count + self.stats.inference().fail.count;
        let left = (self.scheduler.open(), self.scheduler.queued(), self.scheduler.in_flight());
        if left != (0, 0, 0) || counted != summary.arrived {
            return Err(format!(
                "open, queued, in flight: {left:?}; {counted} counted of {}",
                summary.arrived
            ));
        }
        Ok(summary.clone())
    }

    fn now(&self) -> Instant {
        self.timeline.now()
    }

    fn log(&mut self, line: impl FnOnce() -> String) {
        let now = self.now();
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>12.6} {}", now.as_nanos() as f64 / 1e9, line()));
        }
    }

    fn site(&mut self, instance: InstanceId) -> &mut Site {
        &mut self.sites[instance.0 as usize]
    }

    /// One event, or one deadline that comes before it. False when there is neither.
    fn step(&mut self) -> Result<bool, String> {
        let machines = self.sites.iter().map(|site| site.machine.next_deadline());
        let deadline = machines
            .chain([self.scheduler.next_deadline(), self.version.next_deadline()])
            .flatten()
            .min()
            .map(|deadline| deadline + Duration::from_micros(self.plan.timer_slack));
        match (self.timeline.next(), deadline) {
            (None, None) => return Ok(false),
            (Some(event), deadline) if deadline.is_none_or(|deadline| event <= deadline) => {
                if let Some(occurrence) = self.timeline.take() {
                    self.log(|| format!("{occurrence:?}"));
                    self.occur(occurrence)?;
                }
            }
            (_, Some(deadline)) => {
                self.timeline.jump(deadline);
                self.expire();
            }
            (_, None) => {}
        }
        self.settle()?;
        Ok(true)
    }

    fn expire(&mut self) {
        let now = self.now();
        for site in &mut self.sites {
            if site.machine.next_deadline().is_some_and(|deadline| deadline <= now) {
                site.machine.expire(now);
            }
        }
        if self.version.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.version.expire(now);
        }
        if self.scheduler.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.scheduler.expire(now);
        }
    }

    fn occur(&mut self, occurrence: Occurrence) -> Check {
        let now = self.now();
        match occurrence {
            Occurrence::Arrivals => self.arrive(),
            Occurrence::Cancel(ticket) => {
                self.oracle.cancels(ticket);
                self.scheduler.handle(now, schedule::Event::Cancel(ticket));
            }
            Occurrence::Deed { instance, generation, deed } => return self.deed(instance, generation, deed),
            Occurrence::Closed { instance, generation } => {
                self.site(instance).machine.handle(now, instance::Event::Disconnected { generation });
            }
            Occurrence::Reaped { instance, generation, cause } => {
                self.site(instance).machine.handle(now, instance::Event::Exited { generation, cause });
            }
            Occurrence::Overdue { instance, generation, batch } => {
                let site = self.site(instance);
                if site.running.contains(&batch) {
                    let reason = format!("batch {batch} has had its time");
                    site.machine.handle(now, instance::Event::Condemn { generation, reason });
                }
            }
            Occurrence::Reset(instance) => self.site(instance).machine.handle(now, instance::Event::Reset),
            Occurrence::Unload => {
                let deadline = now + Duration::from_secs(20);
                self.version.handle(now, version::Event::Unload { deadline });
            }
        }
        Ok(())
    }

    fn arrive(&mut self) {
        let (size, gap) = self.plan.burst(&mut self.random);
        for _ in 0..size {
            self.next_ticket += 1;
            let request = self.plan.request(Ticket(self.next_ticket), &mut self.random);
            for after in self.plan.cancellations(&mut self.random) {
                self.timeline.plan(after, Occurrence::Cancel(request.ticket));
            }
            self.log(|| format!("  {request:?}"));
            let now = self.now();
            self.oracle.arrives(now, &request);
            self.scheduler.handle(now, schedule::Event::Enqueue(request));
        }
        if self.next_ticket < self.plan.arrivals {
            self.timeline.plan(gap, Occurrence::Arrivals);
        } else if self.next_ticket < 2 * self.plan.arrivals {
            // Some arrive in spite of the unload.
            self.next_ticket = 2 * self.plan.arrivals;
            let after = around(&mut self.random, 100);
            self.timeline.plan(after, Occurrence::Unload);
            self.timeline.plan(after + gap, Occurrence::Arrivals);
        }
    }

    /// What a worker does. The dead do nothing, but words of theirs may still be on the way.
    fn deed(&mut self, instance: InstanceId, generation: Generation, deed: Deed) -> Check {
        let now = self.now();
        let site = &mut self.sites[instance.0 as usize];
        let current = site.machine.generation() == generation;
        let worker = site.worker.as_mut().filter(|worker| current && worker.alive);
        if worker.is_none() && matches!(deed, Deed::Exit(_)) {
            return Ok(());
        }
        match deed {
            Deed::Hello => site.machine.handle(now, instance::Event::Hello { generation }),
            Deed::Loaded => site.machine.handle(now, instance::Event::Loaded { generation }),
            Deed::LoadFailed => {
                let reason = "the model is broken".to_owned();
                site.machine.handle(now, instance::Event::LoadFailed { generation, reason });
            }
            Deed::Finished(batch) => {
                let deeds = worker.map(|worker| worker.finished(batch, &mut self.random));
                site.running.retain(|&running| running != batch);
                self.plan_deeds(instance, generation, deeds.unwrap_or_default());
                return self.finish(instance, batch);
            }
            Deed::Exit(cause) => {
                if let Some(worker) = worker {
                    worker.alive = false;
                }
                let closed = around(&mut self.random, 2);
                self.timeline.plan(closed, Occurrence::Closed { instance, generation });
                let reaped = around(&mut self.random, 3);
                self.timeline.plan(reaped, Occurrence::Reaped { instance, generation, cause });
            }
        }
        Ok(())
    }

    /// Whether that is true is for the scheduler to find out.
    fn finish(&mut self, instance: InstanceId, batch: BatchId) -> Check {
        let before = self.oracle.summary.finished;
        self.oracle.finishes(instance, batch)?;
        for _ in before..self.oracle.summary.finished {
            self.stats.record_success(1, Duration::ZERO, Duration::ZERO, ComputeTime::default());
        }
        self.scheduler.handle(self.now(), schedule::Event::Finished { instance, batch });
        Ok(())
    }

    fn plan_deeds(&mut self, instance: InstanceId, generation: Generation, deeds: Vec<(Duration, Deed)>) {
        for (after, deed) in deeds {
            self.timeline.plan(after, Occurrence::Deed { instance, generation, deed });
        }
    }

    fn order(&mut self, instance: InstanceId, order: Order) {
        let site = &mut self.sites[instance.0 as usize];
        let generation = site.machine.generation();
        let Some(worker) = site.worker.as_mut().filter(|worker| worker.alive) else { return };
        let deeds = worker.obey(order, &mut self.random);
        self.plan_deeds(instance, generation, deeds);
    }

    /// Performs what the machines ask for until none asks for more.
    fn settle(&mut self) -> Check {
        loop {
            if let Some(action) = self.scheduler.poll() {
                self.log(|| format!("  -> {action:?}"));
                self.perform(action)?;
            } else if let Some(action) = self.version.poll() {
                self.log(|| format!("  -> {action:?}"));
                self.perform_version(action);
            } else {
                let next = self
                    .sites
                    .iter_mut()
                    .zip(0..)
                    .find_map(|(site, id)| Some((InstanceId(id), site.machine.poll()?)));
                let Some((instance, action)) = next else { break };
                self.log(|| format!("  -> {instance}: {action:?}"));
                self.perform_instance(instance, action)?;
            }
        }
        self.oracle.settled(self.now(), self.plan.timer_slack)
    }

    fn perform(&mut self, action: schedule::Action) -> Check {
        let now = self.now();
        match action {
            schedule::Action::Run { instance, batch, tickets } => {
                self.oracle.runs(now, instance, batch, &tickets)?;
                let site = self.site(instance);
                site.running.push(batch);
                let generation = site.machine.generation();
                self.timeline.plan(self.plan.patience, Occurrence::Overdue { instance, generation, batch });
                self.order(instance, Order::Execute(batch));
            }
            schedule::Action::Reject { ticket, reason } => {
                self.stats.record_failure(FailureReason::from(&reason), Duration::ZERO);
                self.oracle.rejects(now, ticket, &reason)?;
            }
            schedule::Action::Lost { ticket, instance } => {
                self.stats.record_failure(FailureReason::Backend, Duration::ZERO);
                self.oracle.loses(ticket, instance)?;
            }
            schedule::Action::CancelRunning { ticket, instance } => {
                self.oracle.cancels_running(ticket, instance)?;
            }
            schedule::Action::Drained => {
                self.oracle.drains()?;
                self.version.handle(now, version::Event::Drained);
            }
        }
        Ok(())
    }

    fn perform_version(&mut self, action: version::Action) {
        let now = self.now();
        match action {
            version::Action::StartInstance { instance } => {
                self.site(instance).machine.handle(now, instance::Event::Start);
            }
            version::Action::StopInstance { instance, deadline } => {
                self.site(instance).machine.handle(now, instance::Event::Stop { deadline });
            }
            version::Action::StopScheduler => {
                self.oracle.stops();
                self.scheduler.handle(now, schedule::Event::Stop);
            }
            version::Action::FailFast { reason } => {
                self.oracle.refuses(true);
                self.scheduler.handle(now, schedule::Event::Unavailable { reason });
            }
            version::Action::StopFailFast => {
                self.oracle.refuses(false);
                self.scheduler.handle(now, schedule::Event::Available);
            }
            version::Action::ReportLoadFailed { .. } => self.oracle.summary.load_failures += 1,
            version::Action::Readiness { .. }
            | version::Action::ReportLoaded
            | version::Action::ReportUnloaded => {}
        }
    }

    fn perform_instance(&mut self, instance: InstanceId, action: instance::Action) -> Check {
        use instance::Action;
        let now = self.now();
        match action {
            Action::Spawn { generation } => self.spawn(instance, generation)?,
            Action::SendDescribe { .. } => return Err("nobody asked for a description".to_owned()),
            Action::SendLoad { .. } => self.order(instance, Order::Load),
            Action::SendStop { .. } => self.order(instance, Order::Stop),
            Action::Term { .. } => self.order(instance, Order::Term),
            Action::Kill { .. } => self.order(instance, Order::Kill),
            Action::Abandon { .. } => self.oracle.summary.abandoned += 1,
            Action::AnnounceUp { .. } => {
                self.oracle.up(instance)?;
                let slots = self.plan.slots;
                self.scheduler.handle(now, schedule::Event::InstanceUp { instance, slots });
                self.version.handle(now, version::Event::InstanceUp { instance });
            }
            Action::AnnounceDraining { .. } => {
                self.oracle.closes(instance)?;
                self.scheduler.handle(now, schedule::Event::InstanceDraining { instance });
                self.version.handle(now, version::Event::InstanceDown { instance });
            }
            Action::AnnounceDown { .. } => {
                self.oracle.down(instance)?;
                self.site(instance).running.clear();
                self.scheduler.handle(now, schedule::Event::InstanceDown { instance });
                self.version.handle(now, version::Event::InstanceDown { instance });
            }
            Action::ReportExit { .. } => self.oracle.gone(instance)?,
            Action::ReportBackoff { .. } => {}
            Action::ReportLoadFailed { reason } => {
                self.version.handle(now, version::Event::InstanceLoadFailed { instance, reason });
            }
            Action::ReportFailed { reason } => {
                self.oracle.summary.given_up += 1;
                self.version.handle(now, version::Event::InstanceFailed { instance, reason });
                if chance(&mut self.random, 600) {
                    let after = around(&mut self.random, 500);
                    self.timeline.plan(after, Occurrence::Reset(instance));
                }
            }
            Action::ReportStopped => self.version.handle(now, version::Event::InstanceStopped { instance }),
        }
        Ok(())
    }

    fn spawn(&mut self, instance: InstanceId, generation: Generation) -> Check {
        let now = self.now();
        self.oracle.spawned(instance, generation)?;
        self.version.handle(now, version::Event::InstanceStarting { instance });
        let first = generation == Generation(1);
        if !first && chance(&mut self.random, self.plan.temper.stumbles / 10) {
            let error = "no such program".to_owned();
            self.site(instance).worker = None;
            self.site(instance).machine.handle(now, instance::Event::SpawnFailed { generation, error });
            return Ok(());
        }
        self.site(instance).worker = Some(Worker::new(self.plan.temper, first));
        self.order(instance, Order::Start);
        Ok(())
    }
}
