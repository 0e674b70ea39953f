//! The texts for requests that do not fit their model. Only built when something is wrong.

use super::shape::{self, Impossible};
use super::strings::Malformed;
use super::{InputView, RequestView};
use crate::config::datatype::INVALID_WIRE_NAME;
use crate::config::{DataType, InputSpec, ModelConfig};
use crate::error::ServeError;
use std::fmt;

/// The client's id of a request, as error texts begin with it.
#[derive(Clone, Copy)]
pub(super) struct RequestId<'a>(pub(super) &'a str);

impl RequestId<'_> {
    pub(super) fn invalid(self, message: fmt::Arguments<'_>) -> ServeError {
        ServeError::invalid(format!("{self}{message}"))
    }
}

impl fmt::Display for RequestId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = if self.0.is_empty() { "<id_unknown>" } else { self.0 };
        write!(f, "[request id: {id}] ")
    }
}

/// Dims as Triton prints them: `[-1,16]`.
pub(super) struct Dims<'a>(pub(super) &'a [i64]);

impl fmt::Display for Dims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, dim) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{dim}")?;
        }
        f.write_str("]")
    }
}

/// Names in quotes: `['a','b']`.
fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    format!("[{}]", names.join(","))
}

pub(super) fn type_name(datatype: Option<DataType>) -> &'static str {
    datatype.map_or(INVALID_WIRE_NAME, DataType::wire_name)
}

pub(super) fn wrong_count(config: &ModelConfig, request: &RequestView<'_>) -> ServeError {
    let (given, all, required) = (request.inputs.len(), config.inputs().len(), config.required_inputs());
    let expected = if required == all {
        format!("expected {all} inputs")
    } else {
        format!("expected number of inputs between {required} and {all}")
    };
    let is_given = |name: &str| request.inputs.iter().any(|input| input.name == name);
    let missing = config.inputs().iter().filter(|spec| !spec.optional && !is_given(&spec.name));
    RequestId(request.id).invalid(format_args!(
        "{expected} but got {given} inputs for model '{}'. Got input(s) {}, but missing required input(s) {}. Please \
         provide all required input(s).",
        config.name(),
        quoted(request.inputs.iter().map(|input| input.name)),
        quoted(missing.map(|spec| spec.name.as_str()))
    ))
}

pub(super) fn unspecified_dimension(
    config: &ModelConfig,
    input: &InputView<'_>,
    id: RequestId<'_>,
) -> ServeError {
    id.invalid(format_args!(
        "All input dimensions should be specified for input '{}' for model '{}', got {}",
        input.name,
        config.name(),
        Dims(input.shape)
    ))
}

pub(super) fn wrong_shape(
    config: &ModelConfig,
    spec: &InputSpec,
    input: &InputView<'_>,
    id: RequestId<'_>,
) -> ServeError {
    let note = if config.has_batch_dimension() {
        "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to \
         each input shape. If you want to specify the full shape including the batch dim in your input dims config, \
         try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size."
    } else {
        ""
    };
    id.invalid(format_args!(
        "unexpected shape for input '{}' for model '{}'. Expected {}, got {}. {note}",
        input.name,
        config.name(),
        Dims(&spec.full_dims),
        Dims(input.shape)
    ))
}

pub(super) fn impossible_shape(input: &InputView<'_>, problem: Impossible, id: RequestId<'_>) -> ServeError {
    let (name, most) = (input.name, shape::MOST);
    match problem {
        Impossible::Negative => {
            let dims = Dims(input.shape);
            id.invalid(format_args!("tensor '{name}' contains an invalid dimension in shape {dims}"))
        }
        Impossible::TooManyElements => {
            id.invalid(format_args!("element count for tensor '{name}' exceeds maximum size of {most}"))
        }
        Impossible::TooManyBytes => {
            id.invalid(format_args!("byte size for tensor '{name}' exceeds maximum size of {most}"))
        }
    }
}

pub(super) fn wrong_strings(
    config: &ModelConfig,
    input: &InputView<'_>,
    problem: Malformed,
    id: RequestId<'_>,
) -> ServeError {
    let (name, model) = (input.name, config.name());
    match problem {
        Malformed::IncompleteLength { available } => id.invalid(format_args!(
            "incomplete string length indicator for inference input '{name}' for model '{model}', expecting 4 bytes \
             but only {available} bytes available. Please make sure the string length indicator is in one buffer."
        )),
        Malformed::TooMany { found, expected } => id.invalid(format_args!(
            "unexpected number of string elements {found} for inference input '{name}' for model '{model}', expecting \
             {expected}"
        )),
        Malformed::TooFew { found, expected } => id.invalid(format_args!(
            "expected {expected} string elements for inference input '{name}' for model '{model}', got {found}"
        )),
    }
}
