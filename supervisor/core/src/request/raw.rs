//! Requests that are nothing but the bytes of a model's only input: type and shape follow from the configuration.

use super::error::RequestId;
use super::shape::VARIABLE;
use crate::config::{DataType, InputSpec, ModelConfig};
use crate::error::ServeError;

/// The input that raw bytes are taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawInput<'a> {
    pub spec: &'a InputSpec,
    /// With the batch dimension, where the model has one: one row.
    pub shape: Vec<i64>,
    /// Whether the bytes are one string, whose length must still be put before them.
    pub is_string: bool,
}

/// Deduces what `byte_len` raw bytes are. The result must still pass [`super::check`].
pub fn deduce_raw_input<'a>(
    config: &'a ModelConfig,
    request_id: &str,
    byte_len: u64,
) -> Result<RawInput<'a>, ServeError> {
    let id = RequestId(request_id);
    let [spec] = config.inputs() else {
        return Err(id.invalid(format_args!(
            "Raw request must only have 1 input (found 1) to be deduced but got {} inputs in '{}' model configuration",
            config.inputs().len(),
            config.name()
        )));
    };
    let variable = spec.dims.iter().filter(|dim| **dim == VARIABLE).count();
    if variable > 1 {
        return Err(id.invalid(format_args!(
            "The shape of the raw input '{}' can not be deduced because there are more than one variable-sized dimension",
            spec.name
        )));
    }
    let fixed = spec
        .dims
        .iter()
        .filter(|dim| **dim != VARIABLE)
        .fold(1, |product: i64, dim| product.saturating_mul(*dim));
    let is_string = spec.datatype == DataType::Bytes;
    if is_string && (variable > 0 || fixed != 1) {
        return Err(id.invalid(format_args!(
            "For BYTE datatype raw input '{}', the model must have input shape [1]",
            spec.name
        )));
    }
    let size = spec.datatype.byte_size().unwrap_or(1) as u64;
    let row = u64::try_from(fixed).unwrap_or(1).saturating_mul(size).max(1);
    let deduced = i64::try_from(byte_len / row).unwrap_or(i64::MAX);
    let dims = spec.dims.iter().map(|dim| if *dim == VARIABLE { deduced } else { *dim });
    let batch = config.has_batch_dimension().then_some(1);
    Ok(RawInput { spec, shape: batch.into_iter().chain(dims).collect(), is_string })
}
