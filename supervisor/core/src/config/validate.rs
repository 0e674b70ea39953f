//! Checks a configuration: everything that can be said about it without its model.
//!
//! The rules, their order and their texts are Triton's, since clients and operators read them. All rules run, so that
//! an operator can see every mistake at once; [`validate`] reports the first, as Triton would. What depends on other
//! models (an ensemble's steps) is in [`ensemble_graph`].

mod batching;
mod ensemble;
pub mod ensemble_graph;
mod groups;
mod io;
mod sequence;
mod state;

use super::autofill::{
    AOTI_PLATFORM, ENSEMBLE_PLATFORM, GRAPHDEF_PLATFORM, LIBTORCH_PLATFORM, ONNX_PLATFORM, ONNXRUNTIME,
    PYTORCH, SAVEDMODEL_PLATFORM, TENSORFLOW, TENSORRT, TENSORRT_PLATFORM,
};
use super::{RawConfig, ServerFacts};
use crate::error::ServeError;
use nereid_proto::inference::{
    ModelMetrics, model_config::SchedulingChoice, model_metrics::metric_control::MetricOptions,
};

/// The mistakes found, in the order in which Triton would meet them.
#[derive(Debug, Default)]
struct Findings {
    errors: Vec<ServeError>,
}

impl Findings {
    fn invalid(&mut self, message: impl Into<String>) {
        self.errors.push(ServeError::invalid(message));
    }

    fn invalid_if(&mut self, wrong: bool, message: impl FnOnce() -> String) {
        if wrong {
            self.errors.push(ServeError::invalid(message()));
        }
    }
}

/// The first mistake of a completed configuration.
pub fn validate(raw: &RawConfig, facts: &ServerFacts) -> Result<(), ServeError> {
    first(validate_all(raw, facts))
}

/// Every mistake of a completed configuration.
#[must_use]
pub fn validate_all(raw: &RawConfig, facts: &ServerFacts) -> Vec<ServeError> {
    let mut findings = Findings::default();
    check_model(raw, &mut findings);
    io::check(raw, &mut findings);
    groups::check(raw, facts, &mut findings);
    state::check(raw, &mut findings);
    findings.errors
}

/// The first mistake among what does not change by completion: what is checked before a worker is asked.
pub fn validate_before_completion(raw: &RawConfig, facts: &ServerFacts) -> Result<(), ServeError> {
    let mut findings = Findings::default();
    check_model(raw, &mut findings);
    groups::check(raw, facts, &mut findings);
    first(findings.errors)
}

fn first(errors: Vec<ServeError>) -> Result<(), ServeError> {
    errors.into_iter().next().map_or(Ok(()), Err)
}

fn check_model(raw: &RawConfig, findings: &mut Findings) {
    check_identity(raw, findings);
    let name = &raw.name;
    findings.invalid_if(raw.max_batch_size < 0, || {
        format!("'max_batch_size' must be non-negative value for {name}")
    });
    let has_policy = raw.version_policy.as_ref().is_some_and(|policy| policy.policy_choice.is_some());
    findings.invalid_if(!has_policy, || format!("must specify 'version policy' for {name}"));

    if let Some(SchedulingChoice::DynamicBatching(dynamic)) = &raw.scheduling_choice {
        batching::check(raw, dynamic, findings);
    }
    if let Some(SchedulingChoice::SequenceBatching(sequence)) = &raw.scheduling_choice {
        sequence::check(raw, sequence, findings);
    }
    if let Some(SchedulingChoice::EnsembleScheduling(ensemble)) = &raw.scheduling_choice {
        ensemble::check(raw, ensemble, findings);
    } else if raw.platform == ENSEMBLE_PLATFORM {
        findings.invalid(format!(
            "ensemble scheduling must be set for ensemble {name} whose platform is {ENSEMBLE_PLATFORM}"
        ));
    }
    let decoupled = raw.model_transaction_policy.as_ref().is_some_and(|policy| policy.decoupled);
    findings.invalid_if(decoupled && caches(raw), || {
        format!(
            "Response Cache does not currently support model {name} with 'decoupled' transaction policy. Please \
             disable the response cache."
        )
    });
    if let Some(metrics) = &raw.model_metrics {
        check_metrics(metrics, findings);
    }
}

fn caches(raw: &RawConfig) -> bool {
    raw.response_cache.as_ref().is_some_and(|cache| cache.enable)
}

/// Name, platform and backend.
fn check_identity(raw: &RawConfig, findings: &mut Findings) {
    let RawConfig { name, platform, backend, .. } = raw;
    findings.invalid_if(name.is_empty(), || "model configuration must specify 'name'".to_owned());
    let ensemble = platform == ENSEMBLE_PLATFORM;
    findings.invalid_if(backend.is_empty() && !ensemble, || {
        format!("unexpected platform type '{platform}' for {name}")
    });
    findings.invalid_if(!backend.is_empty() && ensemble, || {
        format!(
            "Ensemble model '{name}' must have platform type '{ENSEMBLE_PLATFORM}' and empty backend type"
        )
    });
    let allowed: &[&str] = match backend.as_str() {
        TENSORFLOW => &[SAVEDMODEL_PLATFORM, GRAPHDEF_PLATFORM],
        TENSORRT => &[TENSORRT_PLATFORM],
        ONNXRUNTIME => &[ONNX_PLATFORM],
        PYTORCH => &[LIBTORCH_PLATFORM, AOTI_PLATFORM],
        // Any other backend may call its platform what it likes.
        _ => return,
    };
    findings.invalid_if(!allowed.contains(&platform.as_str()), || {
        format!("unexpected 'platform' and 'backend' pair, got:{platform}, {backend}")
    });
}

fn check_metrics(metrics: &ModelMetrics, findings: &mut Findings) {
    for control in &metrics.metric_control {
        match &control.metric_identifier {
            None => findings.invalid("metric control must specify 'metric_identifier'"),
            Some(identifier) if identifier.family.is_empty() => {
                findings.invalid("metric identifier must specify non-empty 'family'");
            }
            Some(_) => {}
        }
        match &control.metric_options {
            None => findings.invalid("metric control must specify 'histogram_options'"),
            Some(MetricOptions::HistogramOptions(options)) if options.buckets.is_empty() => {
                findings.invalid("histogram options must specify non-empty 'buckets'");
            }
            Some(MetricOptions::HistogramOptions(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests;
