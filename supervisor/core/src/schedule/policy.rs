//! The configuration of a scheduler: plain data with every default in one place.
//!
//! Deliberately not here: checking a model's configuration. Numbers that make no sense are brought to the nearest one
//! that does, so that a scheduler cannot be built wrong.

use nereid_proto::inference;
use nereid_proto::inference::model_config::SchedulingChoice;
use nereid_proto::inference::model_queue_policy::TimeoutAction as ProtoTimeoutAction;

use crate::time::Duration;

/// The most requests that wait in one level when the configuration sets no limit.
pub const QUEUE_SIZE_MAX: usize = 1 << 20;

/// The most priority levels that are told apart; requests of later levels share the last one.
pub const PRIORITY_LEVELS_MAX: u64 = 1024;

/// What a scheduler is built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerConfig {
    pub strategy: Strategy,
    pub queue: QueuePolicy,
}

/// How batches are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Each request runs alone, first come first served.
    Direct,
    /// Requests are joined.
    Dynamic(BatchPolicy),
}

/// The rules of the dynamic batcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchPolicy {
    max_batch_size: u64,
    /// Ascending, without duplicates, none over `max_batch_size`, never empty.
    preferred: Vec<u64>,
    max_delay: Duration,
}

/// Levels of priority, the first of which goes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePolicy {
    /// At least one.
    levels: Vec<LevelPolicy>,
    /// An index into `levels`.
    default_level: usize,
}

/// What applies to the requests of one priority level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelPolicy {
    /// Requests that may wait; 0: [`QUEUE_SIZE_MAX`].
    pub max_queue_size: u32,
    /// How long a request may wait; zero: as long as it takes.
    pub default_timeout: Duration,
    /// Whether a request may ask for a shorter time.
    pub allow_timeout_override: bool,
    pub timeout_action: TimeoutAction,
}

/// What happens to a request that has waited for longer than it may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeoutAction {
    /// It is refused.
    #[default]
    Reject,
    /// It waits on, behind all of its level that have not waited too long.
    Delay,
}

impl SchedulerConfig {
    /// Each request runs alone.
    #[must_use]
    pub fn direct(level: LevelPolicy) -> Self {
        Self { strategy: Strategy::Direct, queue: QueuePolicy::single(level) }
    }

    /// Requests are joined, without priorities.
    #[must_use]
    pub fn dynamic(batch: BatchPolicy, level: LevelPolicy) -> Self {
        Self { strategy: Strategy::Dynamic(batch), queue: QueuePolicy::single(level) }
    }

    /// What a model's configuration asks for. `default_queue_size` bounds the queue of a model that sets no limit of
    /// its own, 0: [`QUEUE_SIZE_MAX`]. Choices that are not scheduled here (sequences, ensembles) count as direct.
    #[must_use]
    pub fn from_model(config: &inference::ModelConfig, default_queue_size: u32) -> Self {
        let default = LevelPolicy { max_queue_size: default_queue_size, ..LevelPolicy::default() };
        let Some(SchedulingChoice::DynamicBatching(batching)) = &config.scheduling_choice else {
            return Self::direct(default);
        };
        let batch = BatchPolicy::new(
            u32::try_from(config.max_batch_size).unwrap_or(1),
            batching.preferred_batch_size.iter().filter_map(|&size| u32::try_from(size).ok()),
            Duration::from_micros(batching.max_queue_delay_microseconds),
        );
        Self { strategy: Strategy::Dynamic(batch), queue: QueuePolicy::from_batching(batching, default) }
    }
}

impl BatchPolicy {
    /// Without preferred sizes the greatest size is the preferred one.
    #[must_use]
    pub fn new(max_batch_size: u32, preferred: impl IntoIterator<Item = u32>, max_delay: Duration) -> Self {
        let max_batch_size = u64::from(max_batch_size.max(1));
        let mut preferred: Vec<u64> =
            preferred.into_iter().map(u64::from).filter(|size| (1..=max_batch_size).contains(size)).collect();
        preferred.sort_unstable();
        preferred.dedup();
        if preferred.is_empty() {
            preferred.push(max_batch_size);
        }
        Self { max_batch_size, preferred, max_delay }
    }

    /// The most rows in one batch.
    #[must_use]
    pub const fn max_batch_size(&self) -> u64 {
        self.max_batch_size
    }

    /// The greatest preferred size.
    #[must_use]
    pub fn max_preferred(&self) -> u64 {
        self.preferred.last().copied().unwrap_or(self.max_batch_size)
    }

    /// Whether a batch of that size is worth sending at once.
    #[must_use]
    pub fn is_preferred(&self, rows: u64) -> bool {
        self.preferred.binary_search(&rows).is_ok()
    }

    /// How long a request may be held back for company; zero: not at all.
    #[must_use]
    pub const fn max_delay(&self) -> Duration {
        self.max_delay
    }
}

impl QueuePolicy {
    /// One level for all.
    #[must_use]
    pub fn single(level: LevelPolicy) -> Self {
        Self { levels: vec![level], default_level: 0 }
    }

    /// Levels from 1, the first of which goes first. `default_level` is what requests without a valid priority get.
    /// An empty list means one level with default rules.
    #[must_use]
    pub fn levels(mut levels: Vec<LevelPolicy>, default_level: u64) -> Self {
        if levels.is_empty() {
            levels.push(LevelPolicy::default());
        }
        let last = levels.len() - 1;
        let default_level = usize::try_from(default_level.saturating_sub(1)).unwrap_or(last).min(last);
        Self { levels, default_level }
    }

    fn from_batching(batching: &inference::ModelDynamicBatching, default: LevelPolicy) -> Self {
        let level = |policy: Option<&inference::ModelQueuePolicy>| {
            policy.map_or(default, |policy| LevelPolicy::from_proto(policy, default))
        };
        let default_policy = batching.default_queue_policy.as_ref();
        if batching.priority_levels == 0 {
            return Self::single(level(default_policy));
        }
        let levels = (1..=batching.priority_levels.min(PRIORITY_LEVELS_MAX))
            .map(|number| level(batching.priority_queue_policy.get(&number).or(default_policy)))
            .collect();
        Self::levels(levels, batching.default_priority_level)
    }

    /// The rules of each level.
    pub(crate) fn policies(&self) -> &[LevelPolicy] {
        &self.levels
    }

    /// The index of the level that a request of that priority waits in.
    pub(crate) fn level_of(&self, priority: u64) -> usize {
        let index = priority.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.filter(|&index| index < self.levels.len()).unwrap_or(self.default_level)
    }
}

impl LevelPolicy {
    fn from_proto(policy: &inference::ModelQueuePolicy, default: Self) -> Self {
        Self {
            max_queue_size: match policy.max_queue_size {
                0 => default.max_queue_size,
                limit => limit,
            },
            default_timeout: Duration::from_micros(policy.default_timeout_microseconds),
            allow_timeout_override: policy.allow_timeout_override,
            timeout_action: match policy.timeout_action() {
                ProtoTimeoutAction::Reject => TimeoutAction::Reject,
                ProtoTimeoutAction::Delay => TimeoutAction::Delay,
            },
        }
    }

    /// How many requests may wait.
    pub(crate) fn capacity(&self) -> usize {
        match usize::try_from(self.max_queue_size) {
            Ok(0) | Err(_) => QUEUE_SIZE_MAX,
            Ok(limit) => limit,
        }
    }

    /// How long a request may wait that asks for `requested`; a shorter time than the default is granted, a longer
    /// one is not. Without a default time every time is shorter.
    pub(crate) fn timeout(&self, requested: Option<Duration>) -> Option<Duration> {
        let default = Some(self.default_timeout).filter(|timeout| !timeout.is_zero());
        let requested = requested.filter(|timeout| self.allow_timeout_override && !timeout.is_zero());
        match (default, requested) {
            (Some(default), Some(requested)) => Some(default.min(requested)),
            (default, requested) => default.or(requested),
        }
    }
}

#[cfg(test)]
mod tests;
