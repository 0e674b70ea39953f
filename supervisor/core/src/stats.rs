//! What the statistics extension tells of one model version, and what the metrics of the same names count.
//!
//! Plain integers: one task owns them, so nothing is atomic. Every way in which a request can end moves exactly one of
//! [`InferenceStats::success`] and [`InferenceStats::fail`], by exactly one of the `record` methods:
//!
//! | end of a request | method |
//! |---|---|
//! | answered by the model | [`VersionStats::record_success`] |
//! | answered by the response cache | [`VersionStats::record_cached_success`] |
//! | refused, timed out, cancelled, failed | [`VersionStats::record_failure`] |
//!
//! Executions are counted beside that, once for each batch. So `queue.count` equals `success.count`, and each
//! `compute_*.count` equals `success.count - cache_hit.count`.
//!
//! Deliberately not here: clocks, and gauges such as the number of requests that wait (the scheduler knows).

mod export;

use std::collections::BTreeMap;

use crate::schedule::RejectReason;
use crate::time::Duration;

/// Events and their total time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub count: u64,
    pub ns: u64,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, duration: Duration) {
        self.count += 1;
        self.ns = self.ns.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// Where the time of an execution went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComputeTime {
    pub input: Duration,
    pub infer: Duration,
    pub output: Duration,
}

/// Why a request failed, as the failure counter's `reason` label says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FailureReason {
    /// The queue refused it, or it waited too long.
    Rejected = 0,
    /// Its client gave up.
    Canceled = 1,
    /// The model answered with an error, or its worker died.
    Backend = 2,
    /// Anything else.
    Other = 3,
}

impl FailureReason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Rejected, Self::Canceled, Self::Backend, Self::Other];

    /// The label's value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "REJECTED",
            Self::Canceled => "CANCELED",
            Self::Backend => "BACKEND",
            Self::Other => "OTHER",
        }
    }
}

impl From<&RejectReason> for FailureReason {
    fn from(reason: &RejectReason) -> Self {
        match reason {
            RejectReason::QueueFull | RejectReason::TimedOut | RejectReason::Stopping => Self::Rejected,
            RejectReason::Cancelled => Self::Canceled,
            RejectReason::Unavailable(_) => Self::Other,
        }
    }
}

/// Durations of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InferenceStats {
    pub success: Tally,
    pub fail: Tally,
    pub queue: Tally,
    pub compute_input: Tally,
    pub compute_infer: Tally,
    pub compute_output: Tally,
    pub cache_hit: Tally,
    pub cache_miss: Tally,
}

/// Durations of executions of one batch size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchStats {
    pub compute_input: Tally,
    pub compute_infer: Tally,
    pub compute_output: Tally,
}

/// The statistics of one model version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionStats {
    last_inference_ms: u64,
    inference_count: u64,
    execution_count: u64,
    inference: InferenceStats,
    /// At most one entry for each size up to the model's greatest batch.
    batches: BTreeMap<u64, BatchStats>,
    failures: [u64; FailureReason::ALL.len()],
}

impl VersionStats {
    /// A request of `rows` rows was answered by the model after `total`, of which it waited for `queue`; `compute` is
    /// what its whole batch took.
    pub fn record_success(&mut self, rows: u64, total: Duration, queue: Duration, compute: ComputeTime) {
        self.inference_count += rows.max(1);
        let stats = &mut self.inference;
        stats.success.add(total);
        stats.queue.add(queue);
        stats.compute_input.add(compute.input);
        stats.compute_infer.add(compute.infer);
        stats.compute_output.add(compute.output);
    }

    /// A request was answered from the response cache: no inference, and nothing was computed.
    pub fn record_cached_success(&mut self, total: Duration, queue: Duration, lookup: Duration) {
        self.inference.success.add(total);
        self.inference.queue.add(queue);
        self.inference.cache_hit.add(lookup);
    }

    /// The response cache did not know a request. That ends nothing: the request runs.
    pub fn record_cache_miss(&mut self, lookup_and_insertion: Duration) {
        self.inference.cache_miss.add(lookup_and_insertion);
    }

    /// A request failed after `total`.
    pub fn record_failure(&mut self, reason: FailureReason, total: Duration) {
        self.inference.fail.add(total);
        self.failures[reason as usize] += 1;
    }

    /// A batch of `rows` rows was executed; `wall_ms` is the time now in milliseconds since the Unix epoch.
    pub fn record_execution(&mut self, rows: u64, compute: ComputeTime, wall_ms: u64) {
        self.execution_count += 1;
        self.last_inference_ms = self.last_inference_ms.max(wall_ms);
        let batch = self.batches.entry(rows.max(1)).or_default();
        batch.compute_input.add(compute.input);
        batch.compute_infer.add(compute.infer);
        batch.compute_output.add(compute.output);
    }

    /// When the last batch was executed, in milliseconds since the Unix epoch; 0: never.
    #[must_use]
    pub const fn last_inference_ms(&self) -> u64 {
        self.last_inference_ms
    }

    /// Inferences: a request of n rows counts n. Those from the response cache do not count.
    #[must_use]
    pub const fn inference_count(&self) -> u64 {
        self.inference_count
    }

    /// Batches that were executed.
    #[must_use]
    pub const fn execution_count(&self) -> u64 {
        self.execution_count
    }

    /// Durations of requests.
    #[must_use]
    pub const fn inference(&self) -> &InferenceStats {
        &self.inference
    }

    /// Durations of executions, by batch size in ascending order.
    pub fn batches(&self) -> impl Iterator<Item = (u64, &BatchStats)> {
        self.batches.iter().map(|(&rows, stats)| (rows, stats))
    }

    /// Requests that failed for that reason.
    #[must_use]
    pub const fn failures(&self, reason: FailureReason) -> u64 {
        self.failures[reason as usize]
    }
}

#[cfg(test)]
mod tests;
