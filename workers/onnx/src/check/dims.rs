//! The sizes in a configuration against those in the model.
//!
//! Deliberately not here: sizes of requests.

use super::{refuse, shape_text};
use crate::ffi::session::Port;
use nereid_proto::inference::ModelConfig;
use nereid_worker::WorkerError;

/// Compares a tensor's sizes. A size that the model leaves open takes any in the configuration, unless `exact`.
pub(super) fn check_dims(
    config: &ModelConfig,
    port: &Port,
    dims: &[i64],
    exact: bool,
) -> Result<(), WorkerError> {
    let model = &port.shape;
    let about = format!("model '{}', tensor '{}'", config.name, port.name);
    let batched = config.max_batch_size > 0;
    if batched && model.first() != Some(&-1) {
        return Err(WorkerError::invalid_argument(format!(
            "{about}: for the model to support batching the shape should have at least 1 dimension and the first \
             dimension must be -1; but shape expected by the model is {}",
            shape_text(model)
        )));
    }
    let mut full = dims.to_vec();
    if batched {
        full.insert(0, -1);
    }
    let agree = |(&of_model, &of_config): (&i64, &i64)| of_model == of_config || (of_model == -1 && !exact);
    if model.len() == full.len() && model.iter().zip(&full).all(agree) {
        return Ok(());
    }
    let specified = if batched {
        "dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, \
         making complete shape"
    } else {
        "dimensions (shape"
    };
    Err(WorkerError::invalid_argument(format!(
        "{about}: the model expects {} dimensions (shape {}) but the model configuration specifies {} {specified} {})",
        model.len(),
        shape_text(model),
        full.len(),
        shape_text(&full)
    )))
}

/// A scalar of the model is written with sizes of 1 in a configuration.
pub(super) fn check_scalar_dims(config: &ModelConfig, name: &str, dims: &[i64]) -> Result<(), WorkerError> {
    if dims.iter().all(|&size| size == 1) {
        return Ok(());
    }
    let what = format!(
        "scalar tensor '{name}', should only provide 1 in the model configuration when the model doesn't support \
         batching. Model configuration provided: {}.",
        shape_text(dims)
    );
    Err(refuse(config, &what))
}
