//! Checks an inference request against the configuration of its model, before anything is queued.
//!
//! The core sees names, shapes and lengths of a request, and the bytes only of tensors whose layout is part of the
//! request's validity (strings). A valid request costs no allocation. The rules, their order and their texts are
//! Triton's; the texts carry the client's id of the request, except where Triton's do not.
//!
//! Deliberately not here: reading a protocol, and anything that changes a tensor.

mod error;
mod raw;
mod shape;
mod strings;

pub use raw::{RawInput, deduce_raw_input};

use crate::config::{Batching, DataType, InputSpec, ModelConfig};
use crate::error::ServeError;
use error::RequestId;
use nereid_proto::inference::model_sequence_batching::{Control, control::Kind};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Requests with fewer names than this are searched for duplicates name by name, without a table.
const FEW: usize = 16;

/// An input as a request brings it.
#[derive(Clone, Copy, Debug)]
pub struct InputView<'a> {
    pub name: &'a str,
    /// `None` when the request names no type that there is.
    pub datatype: Option<DataType>,
    /// With the batch dimension, where the model has one.
    pub shape: &'a [i64],
    pub byte_len: u64,
    /// The bytes, where they lie in the supervisor's own memory. Only needed for strings and shape tensors.
    pub bytes: Option<&'a [u8]>,
}

/// A request as it came from a client.
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'a> {
    /// The client's id; may be empty.
    pub id: &'a str,
    pub inputs: &'a [InputView<'a>],
    /// Names; empty for all outputs.
    pub outputs: &'a [&'a str],
}

/// What a valid request means to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFacts {
    /// Rows, 0 for a model without a batch dimension.
    pub batch_size: u32,
    /// Requests with different keys never share a batch.
    pub shape_key: u64,
}

impl RequestFacts {
    /// What the request counts for in a batch and in the statistics.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        if self.batch_size == 0 { 1 } else { self.batch_size }
    }
}

/// Checks everything about a request that its model's configuration tells.
pub fn check(config: &ModelConfig, request: &RequestView<'_>) -> Result<RequestFacts, ServeError> {
    let id = RequestId(request.id);
    if let Some(name) = duplicate(request.inputs.iter().map(|input| input.name)) {
        return Err(id.invalid(format_args!("input '{name}' already exists in request")));
    }
    check_outputs(config, request, id)?;
    let (given, all) = (request.inputs.len(), config.inputs().len());
    if given > all || given < config.required_inputs() {
        return Err(error::wrong_count(config, request));
    }
    let batch_size = check_batch_size(config, request, id)?;

    let mut key = config.shape_seed();
    let optional = config.required_inputs() != all;
    for input in request.inputs {
        let (index, spec) = find(config, input.name)?;
        let shape_of_item = check_input(config, spec, input, batch_size, id)?;
        let has_part = optional || spec.shape_tensor || (spec.variable && !spec.ragged);
        if has_part {
            // Inputs come in any order, so their parts are joined by addition.
            key = key.wrapping_add(key_part(config.shape_seed(), index, spec, input, shape_of_item));
        }
    }
    Ok(RequestFacts { batch_size, shape_key: key })
}

/// The sequence that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correlation<'a> {
    Number(u64),
    Text(&'a str),
}

/// Checks that a sequence's id has the type that the model wants to be told. Models that are not told take both.
pub fn check_correlation(
    config: &ModelConfig,
    request_id: &str,
    correlation: Correlation<'_>,
) -> Result<(), ServeError> {
    let Batching::Sequence(sequence) = config.batching() else { return Ok(()) };
    let is_id = |control: &&Control| control.kind() == Kind::ControlSequenceCorrid;
    let control =
        sequence.control_input.iter().find_map(|input| Some((input, input.control.iter().find(is_id)?)));
    let Some((input, control)) = control else { return Ok(()) };
    let wants_text = control.data_type == DataType::Bytes.config_number();
    let given = match correlation {
        Correlation::Number(_) => DataType::Uint64,
        Correlation::Text(_) => DataType::Bytes,
    };
    if wants_text == (given == DataType::Bytes) {
        return Ok(());
    }
    let expected = DataType::from_number(control.data_type);
    Err(RequestId(request_id).invalid(format_args!(
        "sequence batching control '{}' data-type is '{given}', but model '{}' expects '{}'",
        input.name,
        config.name(),
        error::type_name(expected)
    )))
}

/// A name that occurs twice.
fn duplicate<'a>(names: impl ExactSizeIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if names.len() <= FEW {
        return names.clone().enumerate().find_map(|(index, name)| {
            names.clone().take(index).any(|earlier| earlier == name).then_some(name)
        });
    }
    let mut seen = HashSet::with_capacity(names.len());
    names.into_iter().find(|name| !seen.insert(*name))
}

fn check_outputs(
    config: &ModelConfig,
    request: &RequestView<'_>,
    id: RequestId<'_>,
) -> Result<(), ServeError> {
    if let Some(name) = duplicate(request.outputs.iter().copied()) {
        return Err(id.invalid(format_args!("output '{name}' already exists in request")));
    }
    match request.outputs.iter().find(|name| config.output_index(name).is_none()) {
        // Triton's text without an id.
        Some(name) => Err(ServeError::invalid(format!(
            "unexpected inference output '{name}' for model '{}'",
            config.name()
        ))),
        None => Ok(()),
    }
}

fn find<'c>(config: &'c ModelConfig, name: &str) -> Result<(usize, &'c InputSpec), ServeError> {
    let found = config.input_index(name).and_then(|index| Some((index, config.inputs().get(index)?)));
    // Triton's text without an id.
    found.ok_or_else(|| {
        ServeError::invalid(format!("unexpected inference input '{name}' for model '{}'", config.name()))
    })
}

/// The first dimension that all inputs share. A size of zero counts as not yet known, and fails later by its bytes.
fn check_batch_size(
    config: &ModelConfig,
    request: &RequestView<'_>,
    id: RequestId<'_>,
) -> Result<u32, ServeError> {
    if !config.has_batch_dimension() {
        return Ok(0);
    }
    let model = config.name();
    let mut batch_size = 0;
    for input in request.inputs {
        let (_, spec) = find(config, input.name)?;
        if spec.shape_tensor {
            continue;
        }
        let Some(&first) = input.shape.first() else {
            return Err(id.invalid(format_args!(
                "input '{}' has no shape but model requires batch dimension for '{model}'",
                input.name
            )));
        };
        if first < 0 {
            return Err(error::unspecified_dimension(config, input, id));
        }
        if batch_size == 0 {
            batch_size = first;
        } else if first != batch_size {
            return Err(id.invalid(format_args!(
                "input '{}' batch size does not match other inputs for '{model}'",
                input.name
            )));
        }
    }
    u32::try_from(batch_size).ok().filter(|size| *size <= config.max_batch_size()).ok_or_else(|| {
        let limit = config.max_batch_size();
        id.invalid(format_args!("inference request batch-size must be <= {limit} for '{model}'"))
    })
}

/// Checks one input and returns its shape without the batch dimension.
fn check_input<'a>(
    config: &ModelConfig,
    spec: &InputSpec,
    input: &InputView<'a>,
    batch_size: u32,
    id: RequestId<'_>,
) -> Result<&'a [i64], ServeError> {
    let model = config.name();
    if input.datatype != Some(spec.datatype) {
        return Err(id.invalid(format_args!(
            "inference input '{}' data-type is '{}', but model '{model}' expects '{}'",
            input.name,
            error::type_name(input.datatype),
            spec.datatype
        )));
    }
    let has_batch_dimension = config.has_batch_dimension() && !spec.shape_tensor;
    let item = if has_batch_dimension { input.shape.get(1..).unwrap_or_default() } else { input.shape };
    let mut fits = item.len() == spec.dims.len();
    for (dim, wanted) in item.iter().zip(&spec.dims) {
        if fits && *dim == shape::VARIABLE {
            return Err(error::unspecified_dimension(config, input, id));
        }
        fits &= *wanted == shape::VARIABLE || dim == wanted;
    }
    if !fits {
        return Err(error::wrong_shape(config, spec, input, id));
    }
    let rows = if has_batch_dimension && batch_size > 0 { u64::from(batch_size) } else { 1 };
    check_content(config, spec, input, item, rows, id)?;
    Ok(item)
}

/// Checks that an input has as many bytes as its shape promises, or as many strings. Strings that lie elsewhere are
/// left to whoever reads them.
fn check_content(
    config: &ModelConfig,
    spec: &InputSpec,
    input: &InputView<'_>,
    item: &[i64],
    rows: u64,
    id: RequestId<'_>,
) -> Result<(), ServeError> {
    let impossible = |problem| error::impossible_shape(input, problem, id);
    let Some(size) = spec.datatype.byte_size() else {
        let expected = shape::elements(item, rows).map_err(impossible)?;
        let checked = input.bytes.map_or(Ok(()), |bytes| strings::check(bytes, expected));
        return checked.map_err(|problem| error::wrong_strings(config, input, problem, id));
    };
    let expected = shape::bytes(item, rows, size as u64).map_err(impossible)?;
    if spec.non_linear || input.byte_len == expected {
        return Ok(());
    }
    Err(id.invalid(format_args!(
        "input byte size mismatch for input '{}' for model '{}'. Expected {expected}, got {}",
        input.name,
        config.name(),
        input.byte_len
    )))
}

/// What one input adds to the key: that it is there, its shape where requests may differ in it, and its values where
/// they must be equal.
fn key_part(seed: u64, index: usize, spec: &InputSpec, input: &InputView<'_>, item: &[i64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, index).hash(&mut hasher);
    if spec.variable && !spec.ragged {
        item.hash(&mut hasher);
    }
    if spec.shape_tensor {
        input.bytes.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
