//! What a request may have beside its tensors' data, whatever the protocol.
//!
//! Names, parameters and shapes travel to a worker in one packet with those of the other requests of a batch. The packet
//! has a limit, and a request that alone could fill it would fail the others. Tensor data has bounds of its own.

use nereid_core::error::ServeError;

use crate::serve::request::{Correlation, InferRequest, ParameterValue};

/// Dimensions of one tensor, the batch's among them. Workers take no more.
pub(crate) const RANK_MAX: usize = 64;
/// Bytes of a request's id, parameters, names and shapes, all together.
const DESCRIPTION_MAX: usize = 1024 * 1024;

/// Refuses a request that has too much beside its data.
pub(crate) fn check(request: &InferRequest) -> Result<(), ServeError> {
    let size = description_size(request);
    if size <= DESCRIPTION_MAX {
        return Ok(());
    }
    Err(ServeError::invalid(format!(
        "the request's id, parameters, names of inputs and outputs and shapes have {size} bytes together, the limit is \
         {DESCRIPTION_MAX} bytes; send large values as input tensors"
    )))
}

fn description_size(request: &InferRequest) -> usize {
    let correlation = match &request.correlation {
        Correlation::Text(text) => text.len(),
        Correlation::None | Correlation::Number(_) => size_of::<u64>(),
    };
    let parameters = request.parameters.iter().map(|(name, value)| name.len() + parameter_size(value));
    let inputs = request.inputs.iter().map(|input| input.name.len() + size_of_val(input.shape.as_slice()));
    let outputs = request.outputs.iter().map(String::len);
    request.id.len() + correlation + parameters.chain(inputs).chain(outputs).sum::<usize>()
}

const fn parameter_size(value: &ParameterValue) -> usize {
    match value {
        ParameterValue::Bool(_) | ParameterValue::Int64(_) | ParameterValue::Double(_) => size_of::<u64>(),
        ParameterValue::String(text) => text.len(),
        ParameterValue::Bytes(bytes) => bytes.len(),
    }
}

/// The error of a tensor with too many dimensions.
pub(crate) fn too_many_dimensions(name: &str) -> ServeError {
    ServeError::invalid(format!(
        "input '{name}' has too many dimensions; a tensor may have {RANK_MAX} at most"
    ))
}

#[cfg(test)]
mod tests;
