//! The statistics as the message that clients read.
//!
//! Deliberately only a copy from one struct to another: what the numbers mean is said where they are counted.

use nereid_proto::inference;

use super::{Tally, VersionStats};

impl From<Tally> for inference::StatisticDuration {
    fn from(tally: Tally) -> Self {
        Self { count: tally.count, ns: tally.ns }
    }
}

impl VersionStats {
    /// The message of the statistics extension. Memory use and decoupled responses are not counted here.
    #[must_use]
    pub fn to_proto(&self, name: &str, version: &str) -> inference::ModelStatistics {
        let stats = self.inference();
        inference::ModelStatistics {
            name: name.to_owned(),
            version: version.to_owned(),
            last_inference: self.last_inference_ms(),
            inference_count: self.inference_count(),
            execution_count: self.execution_count(),
            inference_stats: Some(inference::InferStatistics {
                success: Some(stats.success.into()),
                fail: Some(stats.fail.into()),
                queue: Some(stats.queue.into()),
                compute_input: Some(stats.compute_input.into()),
                compute_infer: Some(stats.compute_infer.into()),
                compute_output: Some(stats.compute_output.into()),
                cache_hit: Some(stats.cache_hit.into()),
                cache_miss: Some(stats.cache_miss.into()),
            }),
            batch_stats: self
                .batches()
                .map(|(batch_size, batch)| inference::InferBatchStatistics {
                    batch_size,
                    compute_input: Some(batch.compute_input.into()),
                    compute_infer: Some(batch.compute_infer.into()),
                    compute_output: Some(batch.compute_output.into()),
                })
                .collect(),
            ..inference::ModelStatistics::default()
        }
    }
}
