//! A body with a JSON part → an inference request.
//!
//! Errors come in the order and with the texts that clients of Triton know: accessor failures are INTERNAL, what the
//! protocol forbids is INVALID_ARGUMENT. The model's configuration is not looked at here.

use bytes::Buf;
use nereid_core::error::ServeError;

use super::document::{Document, Input, TENSORS_MAX};
use super::outputs::OutputPlan;
use crate::frontend::bounds::{RANK_MAX, too_many_dimensions};
use crate::frontend::datatype;
use crate::frontend::forward::RESERVED_PREFIX;
use crate::frontend::http::binary::Cutter;
use crate::frontend::http::json::value::{Value, missing_member, unable_to_parse};
use crate::frontend::http::tensor::{self, Count};
use crate::frontend::rope::{Rope, joined};
use crate::serve::request::{Correlation, InferRequest, InputTensor, ParameterValue};
use crate::serve::tensor_data::TensorData;

/// Parameters of one request.
const PARAMETERS_MAX: usize = 4096;

/// A request and how its outputs are to be sent.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) request: InferRequest,
    pub(crate) outputs: OutputPlan,
}

/// Decodes a body whose first `json_length` bytes, at least one, are JSON. `size_max` bounds the JSON part and each
/// tensor in it.
pub(crate) fn decode(
    model: &str,
    body: Rope,
    json_length: usize,
    size_max: u64,
) -> Result<Decoded, ServeError> {
    let mut body = body.into_reader();
    let available = body.remaining();
    let text = body.cut(json_length).ok_or_else(|| {
        ServeError::invalid(format!(
            "unexpected size for request JSON, expecting {} more bytes",
            json_length - available
        ))
    })?;
    let text = joined(&text);
    let document = Document::parse(&text)?;
    let mut decoded = Decoded { request: InferRequest::default(), outputs: OutputPlan::default() };
    model.clone_into(&mut decoded.request.model);
    if let Some(id) = document.id {
        decoded.request.id = id.as_name().map_err(unable_to_parse("id"))?;
    }
    if let Some(parameters) = document.parameters {
        decode_parameters(parameters, &mut decoded)?;
    }
    let inputs = document.inputs.get().map_err(unable_to_parse("inputs"))?;
    let mut cutter = Cutter::new(body);
    decoded.request.inputs.reserve_exact(inputs.len());
    for input in inputs {
        decoded.request.inputs.push(decode_input(model, input, &mut cutter, size_max)?);
    }
    if !cutter.is_used_up() {
        return Err(ServeError::invalid(format!("unexpected additional input data for model '{model}'")));
    }
    if let Some(outputs) = document.outputs {
        decode_outputs(outputs, &mut decoded)?;
    }
    Ok(decoded)
}

/// The error of a request whose JSON part is too large.
pub(crate) fn json_too_large(size: u64, size_max: u64) -> ServeError {
    ServeError::invalid(format!(
        "request JSON size of {size} bytes exceeds the maximum allowed input size of {size_max} bytes. Use \
         --http-max-input-size to increase the limit."
    ))
}

fn decode_parameters(parameters: Value<'_>, decoded: &mut Decoded) -> Result<(), ServeError> {
    let members = parameters.members().map_err(|error| ServeError {
        message: format!("failed to get request params.: {}", error.message),
        ..error
    })?;
    let request = &mut decoded.request;
    for (name, value) in members {
        let name = String::from_utf8_lossy(&name);
        match name.as_ref() {
            "sequence_id" => request.correlation = sequence_id(value)?,
            "sequence_start" => {
                request.sequence_start = value.as_bool().map_err(unable_to_parse("sequence_start"))?;
            }
            "sequence_end" => {
                request.sequence_end = value.as_bool().map_err(unable_to_parse("sequence_end"))?;
            }
            "priority" => request.priority = value.as_unsigned().map_err(unable_to_parse("priority"))?,
            "timeout" => request.timeout_us = value.as_unsigned().map_err(unable_to_parse("timeout"))?,
            "binary_data_output" => {
                decoded.outputs.binary_by_default =
                    value.as_bool().map_err(unable_to_parse("binary_data_output"))?;
            }
            reserved if reserved.starts_with(RESERVED_PREFIX) => {
                return Err(ServeError::invalid(
                    "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
                ));
            }
            custom => {
                if request.parameters.len() == PARAMETERS_MAX {
                    return Err(ServeError::invalid(format!(
                        "a request may have {PARAMETERS_MAX} parameters at most"
                    )));
                }
                request.parameters.push((custom.to_owned(), custom_parameter(custom, value)?));
            }
        }
    }
    Ok(())
}

fn sequence_id(value: Value<'_>) -> Result<Correlation, ServeError> {
    match value.as_unsigned() {
        Ok(0) => Ok(Correlation::None),
        Ok(number) => Ok(Correlation::Number(number)),
        Err(_) => match value.as_name().map_err(unable_to_parse("sequence_id"))? {
            empty if empty.is_empty() => Ok(Correlation::None),
            text => Ok(Correlation::Text(text)),
        },
    }
}

/// A parameter with no meaning for the server.
pub(crate) fn custom_parameter(name: &str, value: Value<'_>) -> Result<ParameterValue, ServeError> {
    if value.is_string() {
        return value.as_name().map(ParameterValue::String);
    }
    if let Ok(number) = value.as_signed() {
        return Ok(ParameterValue::Int64(number));
    }
    if let Ok(flag) = value.as_bool() {
        return Ok(ParameterValue::Bool(flag));
    }
    if value.is_number() {
        return value.as_double().map(ParameterValue::Double);
    }
    Err(ServeError::invalid(format!(
        "parameter '{name}' has invalid type. It should be either 'int', 'bool', or 'string'."
    )))
}

/// Where an input's data is.
#[derive(Clone, Copy)]
enum Source<'a> {
    Json(Value<'a>),
    Binary(Value<'a>),
    Region(Value<'a>),
}

fn source<'a>(input: &Input<'a>) -> Result<Source<'a>, ServeError> {
    let parameter = |name| input.parameters.and_then(|parameters| parameters.find(name));
    let (binary, region) = (parameter("binary_data_size"), parameter("shared_memory_region"));
    match (input.data, binary, region) {
        (Some(data), None, None) => Ok(Source::Json(data)),
        (None, Some(size), None) => Ok(Source::Binary(size)),
        (None, None, Some(region)) => Ok(Source::Region(region)),
        (data, binary, region) => {
            let mut message =
                "Input must set only one of the following fields: 'data', 'binary_data_size' in \
                               'parameters', 'shared_memory_region' in 'parameters'. But"
                    .to_owned();
            let fields = [
                (data.is_some(), " 'data'"),
                (binary.is_some(), " 'binary_data_size'"),
                (region.is_some(), " 'shared_memory_region'"),
            ];
            message.push_str(if fields.iter().any(|field| field.0) { " set" } else { " no field is set" });
            for (_, name) in fields.iter().filter(|field| field.0) {
                message.push_str(name);
            }
            Err(ServeError::invalid(message))
        }
    }
}

fn member<'a>(value: Option<Value<'a>>, name: &str) -> Result<Value<'a>, ServeError> {
    value.ok_or_else(|| unable_to_parse(name)(missing_member(name)))
}

fn decode_input(
    model: &str,
    input: &Input<'_>,
    cutter: &mut Cutter,
    size_max: u64,
) -> Result<InputTensor, ServeError> {
    let source = source(input)?;
    let name = member(input.name, "name")?.as_name().map_err(unable_to_parse("name"))?;
    let datatype = member(input.datatype, "datatype")?.as_name().map_err(unable_to_parse("datatype"))?;
    let datatype = datatype::from_wire_name(&datatype);
    let shape = decode_shape(&name, member(input.shape, "shape")?).map_err(unable_to_parse("shape"))?;
    let data = match source {
        Source::Binary(size) => {
            let size = size.as_unsigned().map_err(unable_to_parse("binary_data_size"))?;
            cutter.cut(size).map_err(|missing| {
                ServeError::invalid(format!(
                    "unexpected size for input '{name}', expecting {missing} additional bytes for model '{model}'"
                ))
            })?
        }
        Source::Region(region) => return Err(unknown_region(region)?),
        Source::Json(data) => match tensor::count(&shape) {
            Count::Elements(0) => TensorData::default(),
            Count::Elements(elements) => {
                if !data.is_array() {
                    return Err(unable_to_parse("data")(ServeError::internal(
                        "attempt to access JSON non-array as array",
                    )));
                }
                tensor::decode(&name, datatype, elements, data, size_max)?.into()
            }
            Count::Invalid => {
                return Err(bad_shape(&name, &shape, "contains one or more invalid dimensions"));
            }
            Count::Overflow => {
                let problem = format!("causes total element count to exceed maximum size of {}", i64::MAX);
                return Err(bad_shape(&name, &shape, &problem));
            }
        },
    };
    Ok(InputTensor { name, datatype, shape, data })
}

fn decode_shape(name: &str, shape: Value<'_>) -> Result<Vec<i64>, ServeError> {
    let mut dimensions = Vec::with_capacity(4);
    for dimension in shape.elements()? {
        if dimensions.len() == RANK_MAX {
            return Err(too_many_dimensions(name));
        }
        // What only fits without a sign is told apart as an invalid dimension later.
        dimensions.push(dimension.as_unsigned()?.cast_signed());
    }
    Ok(dimensions)
}

fn bad_shape(name: &str, shape: &[i64], problem: &str) -> ServeError {
    let dimensions: Vec<String> = shape.iter().map(ToString::to_string).collect();
    ServeError::invalid(format!(
        "invalid shape for input '{name}': shape [{}] {problem}",
        dimensions.join(",")
    ))
}

/// Regions cannot be registered yet, so none is known.
fn unknown_region(region: Value<'_>) -> Result<ServeError, ServeError> {
    let region = region.as_name().map_err(unable_to_parse("shared_memory_region"))?;
    Ok(ServeError::not_found(format!("Unable to find shared memory region: '{region}'")))
}

fn decode_outputs(outputs: Value<'_>, decoded: &mut Decoded) -> Result<(), ServeError> {
    for output in outputs.elements().map_err(unable_to_parse("outputs"))? {
        let parameter = |name| output.find("parameters").and_then(|parameters| parameters.find(name));
        let region = parameter("shared_memory_region");
        let classes = parameter("classification");
        let binary = parameter("binary_data");
        if region.is_some() && classes.is_some() {
            return Err(ServeError::invalid(
                "Output can't set both 'shared_memory_region' and 'classification'",
            ));
        }
        if region.is_some() && binary.is_some_and(|binary| binary.as_bool() == Ok(true)) {
            return Err(ServeError::invalid(
                "Output can't set both 'shared_memory_region' and 'binary_data'",
            ));
        }
        let name = member(output.find("name"), "name")?.as_name().map_err(unable_to_parse("name"))?;
        if let Some(classes) = classes {
            let classes = classes.as_unsigned().map_err(|error| ServeError {
                message: format!("Unable to set 'classification': {}", error.message),
                ..error
            })?;
            if classes > 0 {
                return Err(ServeError::unsupported("classification of outputs is not supported yet"));
            }
        }
        if let Some(region) = region {
            return Err(unknown_region(region)?);
        }
        let binary = match binary {
            Some(binary) => binary.as_bool().map_err(unable_to_parse("binary_data"))?,
            None => false,
        };
        if decoded.request.outputs.len() == TENSORS_MAX {
            return Err(ServeError::invalid(format!("a request may name {TENSORS_MAX} outputs at most")));
        }
        decoded.request.outputs.push(name.clone());
        decoded.outputs.list(name, binary);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
