//! A worker process by the seed: it does as it is told, or is slow, deaf, mortal or a liar.

use nereid_core::ids::BatchId;
use nereid_core::lifecycle::ExitCause;
use nereid_core::lifecycle::random::SplitMix64;
use nereid_core::time::Duration;

/// How often in a thousand a worker does what it should not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Temper {
    /// Dies on the job.
    pub(crate) dies: u64,
    /// Never ends a batch, and is deaf from then on.
    pub(crate) hangs: u64,
    /// Ends batches that are not its own, or ends one twice.
    pub(crate) lies: u64,
    /// Takes fifty times as long.
    pub(crate) dawdles: u64,
    /// Says a word of the protocol that it must not say.
    pub(crate) babbles: u64,
    /// Fails to start or to load, after it had been loaded once.
    pub(crate) stumbles: u64,
    /// Fails its first load.
    pub(crate) unloadable: u64,
    /// Does not go at SIGKILL.
    pub(crate) undead: u64,
}

/// What a worker is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Start,
    Load,
    Execute(BatchId),
    Stop,
    Term,
    Kill,
}

/// What a worker does.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Hello,
    Loaded,
    LoadFailed,
    Finished(BatchId),
    Exit(ExitCause),
}

/// One process.
#[derive(Debug)]
pub(crate) struct Worker {
    temper: Temper,
    first_life: bool,
    running: Vec<BatchId>,
    deaf: bool,
    stopping: bool,
    pub(crate) alive: bool,
}

/// Between a quarter of `millis` and all of it.
pub(crate) fn around(random: &mut SplitMix64, millis: u64) -> Duration {
    let most = millis * 1_000;
    Duration::from_micros(most / 4 + random.below(most * 3 / 4 + 1))
}

pub(crate) fn chance(random: &mut SplitMix64, per_mille: u64) -> bool {
    random.below(1000) < per_mille
}

impl Worker {
    pub(crate) fn new(temper: Temper, first_life: bool) -> Self {
        Self { temper, first_life, running: Vec::new(), deaf: false, stopping: false, alive: true }
    }

    /// What follows from an order, and after what time.
    pub(crate) fn obey(&mut self, order: Order, random: &mut SplitMix64) -> Vec<(Duration, Deed)> {
        match order {
            Order::Start => self.start(random),
            Order::Load => self.load(random),
            Order::Execute(batch) => self.execute(batch, random),
            Order::Stop if self.deaf => Vec::new(),
            Order::Stop => {
                self.stopping = true;
                self.exit_if_done(random)
            }
            Order::Term if self.deaf => Vec::new(),
            Order::Term => vec![(around(random, 5), Deed::Exit(ExitCause::Signal(15)))],
            Order::Kill if chance(random, self.temper.undead) => Vec::new(),
            Order::Kill => vec![(around(random, 2), Deed::Exit(ExitCause::Signal(9)))],
        }
    }

    /// It has said that a batch is done.
    pub(crate) fn finished(&mut self, batch: BatchId, random: &mut SplitMix64) -> Vec<(Duration, Deed)> {
        self.running.retain(|&running| running != batch);
        self.exit_if_done(random)
    }

    fn exit_if_done(&self, random: &mut SplitMix64) -> Vec<(Duration, Deed)> {
        if self.stopping && self.running.is_empty() && !self.deaf {
            vec![(around(random, 5), Deed::Exit(ExitCause::Code(0)))]
        } else {
            Vec::new()
        }
    }

    fn stumbles(&self, random: &mut SplitMix64) -> bool {
        let often = if self.first_life { self.temper.unloadable } else { self.temper.stumbles };
        chance(random, often)
    }

    fn start(&mut self, random: &mut SplitMix64) -> Vec<(Duration, Deed)> {
        if self.stumbles(random) {
            return self.stumble(random);
        }
        vec![(around(random, 30), Deed::Hello)]
    }

    fn load(&mut self, random: &mut SplitMix64) -> Vec<(Duration, Deed)> {
        if self.stumbles(random) {
            return self.stumble(random);
        }
        if chance(random, self.temper.babbles) {
            return vec![(around(random, 20), Deed::Hello)];
        }
        vec![(around(random, 200), Deed::Loaded)]
    }

    fn stumble(&mut self, random: &mut SplitMix64) -> Vec<(Duration, Deed)> {
        match random.below(3) {
            0 => vec![(around(random, 50), Deed::Exit(ExitCause::Code(1)))],
            1 => vec![(around(random, 50), Deed::LoadFailed)],
            _ => {
                self.deaf = true;
                Vec::new()
            }
        }
    }

    fn execute(&mut self, batch: BatchId, random: &mut SplitMix64) -> Vec<(Duration, Deed)> {
        self.running.push(batch);
        if self.deaf {
            return Vec::new();
        }
        let slow = if chance(random, self.temper.dawdles) { 50 } else { 1 };
        let time = around(random, 4) * slow;
        if chance(random, self.temper.hangs) {
            self.deaf = true;
            return Vec::new();
        }
        if chance(random, self.temper.dies) {
            return vec![(time, Deed::Exit(ExitCause::Signal(11)))];
        }
        let mut deeds = vec![(time, Deed::Finished(batch))];
        if chance(random, self.temper.lies) {
            let other = BatchId(batch.0.saturating_sub(2) + random.below(5));
            deeds.push((around(random, 8), Deed::Finished(if random.below(2) == 0 { batch } else { other })));
        }
        if chance(random, self.temper.babbles) {
            deeds.push((around(random, 8), Deed::Loaded));
        }
        deeds
    }
}
