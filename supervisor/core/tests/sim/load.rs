//! What a world is made of, and who comes to it: configuration, arrivals and cancellations by the seed.

use nereid_core::ids::Ticket;
use nereid_core::lifecycle::random::SplitMix64;
use nereid_core::schedule::{
    BatchPolicy, LevelPolicy, QueuePolicy, QueuedRequest, SchedulerConfig, Strategy, TimeoutAction,
};
use nereid_core::time::Duration;

use super::worker::{Temper, around, chance};

/// A world's constants.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) instances: u32,
    pub(crate) slots: u32,
    /// Absent: direct.
    pub(crate) batch: Option<BatchPolicy>,
    pub(crate) levels: Vec<LevelPolicy>,
    pub(crate) default_level: u64,
    pub(crate) temper: Temper,
    pub(crate) arrivals: u64,
    /// Mean milliseconds between bursts.
    pub(crate) gap: u64,
    pub(crate) shapes: u64,
    /// How late timers may be, in microseconds.
    pub(crate) timer_slack: u64,
    /// How long a batch may run before the world has its worker killed.
    pub(crate) patience: Duration,
}

impl Plan {
    pub(crate) fn new(random: &mut SplitMix64) -> Self {
        let batch = (random.below(3) > 0).then(|| batch_policy(random));
        let levels = 1 + random.below(2) * random.below(3);
        Self {
            instances: small(random, 4),
            slots: small(random, 3),
            batch,
            levels: (0..levels).map(|_| level_policy(random)).collect(),
            default_level: 1 + random.below(levels),
            temper: temper(random),
            arrivals: 50 + random.below(250),
            gap: 1 + random.below(20),
            shapes: 1 + random.below(3),
            timer_slack: random.below(2) * random.below(2_000),
            patience: Duration::from_secs(1),
        }
    }

    pub(crate) fn scheduler(&self) -> SchedulerConfig {
        let strategy = self.batch.clone().map_or(Strategy::Direct, Strategy::Dynamic);
        SchedulerConfig { strategy, queue: QueuePolicy::levels(self.levels.clone(), self.default_level) }
    }

    /// The level, from 0, that a request of this priority waits in.
    pub(crate) fn level_of(&self, priority: u64) -> usize {
        let levels = self.levels.len() as u64;
        let level = if (1..=levels).contains(&priority) { priority } else { self.default_level };
        usize::try_from(level - 1).expect("levels are few")
    }

    /// One arrival.
    pub(crate) fn request(&self, ticket: Ticket, random: &mut SplitMix64) -> QueuedRequest {
        let rows_max = self.batch.as_ref().map_or(1, BatchPolicy::max_batch_size);
        let rows = if chance(random, 700) { 1 } else { 1 + random.below(rows_max) };
        QueuedRequest {
            ticket,
            batch_size: u32::try_from(rows).expect("batches are small"),
            shape_key: random.below(self.shapes),
            priority: random.below(self.levels.len() as u64 + 2),
            timeout: chance(random, 300).then(|| around(random, 40)),
        }
    }

    /// When a client gives up: mostly never, and sometimes twice.
    pub(crate) fn cancellations(&self, random: &mut SplitMix64) -> Vec<Duration> {
        let times = [900, 970].iter().filter(|&&most| !chance(random, most)).count();
        (0..times).map(|_| around(random, 30)).collect()
    }

    /// Requests in a burst, and the time to the next one.
    pub(crate) fn burst(&self, random: &mut SplitMix64) -> (u64, Duration) {
        let size = if chance(random, 200) { 1 + random.below(12) } else { 1 };
        (size, around(random, self.gap))
    }
}

fn small(random: &mut SplitMix64, most: u64) -> u32 {
    u32::try_from(1 + random.below(most)).expect("it is small")
}

fn batch_policy(random: &mut SplitMix64) -> BatchPolicy {
    let max = small(random, 12);
    let preferred: Vec<u32> = (0..random.below(3)).map(|_| small(random, u64::from(max))).collect();
    let delay = random.below(2) * random.below(20_000);
    BatchPolicy::new(max, preferred, Duration::from_micros(delay))
}

fn level_policy(random: &mut SplitMix64) -> LevelPolicy {
    LevelPolicy {
        max_queue_size: if random.below(2) == 0 { 0 } else { small(random, 30) },
        default_timeout: Duration::from_micros(random.below(2) * random.below(100_000)),
        allow_timeout_override: random.below(2) == 0,
        timeout_action: if random.below(3) == 0 { TimeoutAction::Delay } else { TimeoutAction::Reject },
    }
}

fn temper(random: &mut SplitMix64) -> Temper {
    if random.below(5) == 0 {
        return Temper::default();
    }
    let mut sometimes = |often| random.below(2) * random.below(often);
    Temper {
        dies: sometimes(100),
        hangs: sometimes(20),
        lies: sometimes(200),
        dawdles: sometimes(100),
        babbles: sometimes(10),
        stumbles: sometimes(500),
        unloadable: sometimes(2) * 100,
        undead: sometimes(50),
    }
}
