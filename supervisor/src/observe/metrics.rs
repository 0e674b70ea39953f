//! `/metrics`: Triton's families with Triton's names and labels, and ours for the workers.
//!
//! Nothing is counted here. A scrape reads the statistics that the requests keep anyway, so that the two can never
//! disagree and no request pays for a second counter.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nereid_core::stats::{FailureReason, Tally, VersionStats};

use super::exposition::{Exposition, Kind};
use crate::fleet::status::Status;
use crate::serve::registry::{IndexEntry, Registry, VersionState};
use crate::serve::version::VersionShared;

type Counter = (&'static str, &'static str, fn(&VersionStats) -> u64);

const fn micros(tally: Tally) -> u64 {
    tally.ns / 1000
}

/// Name, help, value.
const COUNTERS: &[Counter] = &[
    ("nv_inference_request_success", "Number of successful inference requests, all batch sizes", |stats| {
        stats.inference().success.count
    }),
    (
        "nv_inference_count",
        "Number of inferences performed (does not include cached requests)",
        VersionStats::inference_count,
    ),
    (
        "nv_inference_exec_count",
        "Number of model executions performed (does not include cached requests)",
        VersionStats::execution_count,
    ),
    (
        "nv_inference_request_duration_us",
        "Cumulative inference request duration in microseconds (includes cached requests)",
        |stats| micros(stats.inference().success) + micros(stats.inference().fail),
    ),
    (
        "nv_inference_queue_duration_us",
        "Cumulative inference queuing duration in microseconds (includes cached requests)",
        |stats| micros(stats.inference().queue),
    ),
    (
        "nv_inference_compute_input_duration_us",
        "Cumulative compute input duration in microseconds (does not include cached requests)",
        |stats| micros(stats.inference().compute_input),
    ),
    (
        "nv_inference_compute_infer_duration_us",
        "Cumulative compute inference duration in microseconds (does not include cached requests)",
        |stats| micros(stats.inference().compute_infer),
    ),
    (
        "nv_inference_compute_output_duration_us",
        "Cumulative inference compute output duration in microseconds (does not include cached requests)",
        |stats| micros(stats.inference().compute_output),
    ),
];

/// The text of a scrape.
#[must_use]
pub fn render(registry: &Registry) -> String {
    let versions: Vec<Sample> = registry.ready().into_iter().map(Sample::take).collect();
    let mut exposition = Exposition::default();
    for (name, help, value) in COUNTERS {
        exposition.family(name, Kind::Counter, help);
        for sample in &versions {
            exposition.sample(name, sample.labels(), value(&sample.stats));
        }
    }
    failures(&mut exposition, &versions);
    gauges(&mut exposition, &versions);
    models(&mut exposition, registry);
    workers(&mut exposition, &versions);
    exposition.into_text()
}

/// One version's figures, all of one moment.
struct Sample {
    shared: Arc<VersionShared>,
    version: String,
    /// The model's own labels, from `metric_tags`.
    tags: Vec<(String, String)>,
    stats: VersionStats,
}

impl Sample {
    fn take(shared: Arc<VersionShared>) -> Self {
        let stats = shared.stats().clone();
        let tags = &shared.config.raw().metric_tags;
        let tags = tags.iter().map(|(tag, value)| (format!("_{tag}"), value.clone())).collect();
        Self { version: shared.version.to_string(), tags, stats, shared }
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        [("model", self.shared.name.as_str()), ("version", self.version.as_str())]
            .into_iter()
            .chain(self.tags.iter().map(|(tag, value)| (tag.as_str(), value.as_str())))
    }
}

fn failures(exposition: &mut Exposition, versions: &[Sample]) {
    let name = "nv_inference_request_failure";
    exposition.family(name, Kind::Counter, "Number of failed inference requests, all batch sizes");
    for sample in versions {
        for reason in FailureReason::ALL {
            let labels = sample.labels().chain([("reason", reason.as_str())]);
            exposition.sample(name, labels, sample.stats.failures(reason));
        }
    }
}

fn gauges(exposition: &mut Exposition, versions: &[Sample]) {
    let name = "nv_inference_pending_request_count";
    exposition.family(
        name,
        Kind::Gauge,
        "Instantaneous number of pending requests awaiting execution per-model.",
    );
    for sample in versions {
        exposition.sample(name, sample.labels(), sample.shared.queued.load(Ordering::Relaxed));
    }
    let name = "nv_model_load_duration_secs";
    exposition.family(name, Kind::Gauge, "Model load time in seconds");
    for sample in versions {
        exposition.sample(name, sample.labels(), sample.shared.load_seconds());
    }
}

/// Also of versions that could not be loaded, which have no other figures.
fn models(exposition: &mut Exposition, registry: &Registry) {
    let name = "nereid_model_ready";
    exposition.family(name, Kind::Gauge, "1 while an instance of the model version can take a request");
    for IndexEntry { name: model, version, state, .. } in registry.index() {
        let version = version.map(|number| number.to_string()).unwrap_or_default();
        let ready = matches!(state, Some(VersionState::Ready(shared)) if shared.is_ready());
        exposition.sample(name, [("model", model.as_str()), ("version", version.as_str())], u8::from(ready));
    }
}

/// Of an instance's figures.
type WorkerGauge = (&'static str, Kind, &'static str, fn(&Status) -> u64);

const WORKERS: &[WorkerGauge] = &[
    ("nereid_worker_up", Kind::Gauge, "1 while the instance takes requests", |status| {
        u64::from(status.state == "READY")
    }),
    (
        "nereid_worker_pid",
        Kind::Gauge,
        "Process id of the instance's worker, 0 while there is none",
        |status| u64::from(status.pid),
    ),
    ("nereid_worker_generation", Kind::Gauge, "Which life of the instance this is, from 1", |status| {
        status.generation
    }),
    (
        "nereid_worker_restarts_total",
        Kind::Counter,
        "How often the instance's worker was started again",
        |status| status.restarts,
    ),
];

fn workers(exposition: &mut Exposition, versions: &[Sample]) {
    for (name, kind, help, value) in WORKERS {
        exposition.family(name, *kind, help);
        for sample in versions {
            for (spec, status) in sample.shared.instances.iter().zip(&sample.shared.statuses) {
                let labels = sample.labels().chain([("instance", spec.name.as_str())]);
                exposition.sample(name, labels, value(&status.get()));
            }
        }
    }
}
