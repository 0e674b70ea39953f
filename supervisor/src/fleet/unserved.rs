//! What a configuration may ask for and this server does not do yet: one list, so that nothing is swallowed.
//!
//! A model is refused where ignoring the wish would change what it answers or what guards it; where only speed or order
//! is at stake, it is served and the log says so.

use nereid_core::config::{Batching, ModelConfig};
use nereid_core::error::ServeError;

/// The parameter that names a library with a batching strategy of the model's own.
const BATCH_STRATEGY_PARAMETER: &str = "TRITON_BATCH_STRATEGY_PATH";

/// The wishes that are ignored, for the log; an error where one cannot be.
pub(super) fn check(config: &ModelConfig) -> Result<Vec<String>, ServeError> {
    let raw = config.raw();
    let refused = match config.batching() {
        Batching::Sequence(_) => Some("sequence_batching"),
        Batching::Ensemble(_) => Some("ensemble_scheduling"),
        _ if !raw.model_repository_agents.clone().unwrap_or_default().agents.is_empty() => {
            Some("model_repository_agents")
        }
        _ if config.parameter(BATCH_STRATEGY_PARAMETER).is_some() => Some(BATCH_STRATEGY_PARAMETER),
        Batching::Direct | Batching::Dynamic(_) => None,
    };
    if let Some(what) = refused {
        return Err(ServeError::unsupported(format!(
            "model '{}' asks for {what}, which this version of Nereid does not serve",
            config.name()
        )));
    }
    let mut ignored = Vec::new();
    if !raw.model_warmup.is_empty() {
        ignored.push("model_warmup");
    }
    if matches!(config.batching(), Batching::Dynamic(dynamic) if dynamic.preserve_ordering) {
        ignored.push("dynamic_batching.preserve_ordering");
    }
    if config.caches_responses() {
        ignored.push("response_cache");
    }
    Ok(ignored.into_iter().map(|what| format!("{what} has no effect in this version of Nereid")).collect())
}

#[cfg(test)]
mod tests;
