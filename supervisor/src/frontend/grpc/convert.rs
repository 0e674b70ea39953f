//! Messages of the inference service ↔ requests and responses.
//!
//! Every rule about parameters and about where a tensor's data may be is here, in the order in which clients know the
//! errors. The model's configuration is not looked at.

use std::collections::BTreeMap;

use nereid_core::error::ServeError;
use nereid_proto::inference::infer_parameter::ParameterChoice;
use nereid_proto::inference::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use nereid_proto::inference::model_infer_response::InferOutputTensor;
use nereid_proto::inference::{DataType, InferParameter, ModelInferResponse};
use prost::Message;

use super::contents::{self, Subject};
use super::message;
use super::receive::MESSAGE_SIZE_MAX;
use crate::frontend::bounds::{RANK_MAX, too_many_dimensions};
use crate::frontend::datatype;
use crate::frontend::forward::RESERVED_PREFIX;
use crate::frontend::rope::joined;
use crate::serve::request::{Correlation, InferRequest, InferResponse, InputTensor, ParameterValue};
use crate::serve::tensor_data::TensorData;

type Parameters = BTreeMap<String, InferParameter>;

/// The one parameter with the reserved prefix that a request may carry.
pub(crate) const EMPTY_FINAL_RESPONSE: &str = "triton_enable_empty_final_response";

/// A message → a request. The caller has parsed the version.
pub(crate) fn request(sent: message::Request, version: Option<i64>) -> Result<InferRequest, ServeError> {
    let message::Request { message, raw } = sent;
    let mut request = InferRequest { version, id: message.id, ..InferRequest::default() };
    for (name, parameter) in message.parameters {
        let choice = parameter.parameter_choice;
        if name == EMPTY_FINAL_RESPONSE {
            // Only streams of decoupled models, which are not served yet, would end with an empty response.
            flag(&name, choice.as_ref())?;
        } else {
            set_parameter(&mut request, name, choice)?;
        }
    }
    let model = &message.model_name;
    let mut raw = raw.into_iter();
    let uses_raw = raw.len() > 0;
    request.inputs.reserve_exact(message.inputs.len());
    for input in message.inputs {
        request.inputs.push(convert_input(model, input, uses_raw, &mut raw)?);
    }
    request.outputs.reserve_exact(message.outputs.len());
    for output in message.outputs {
        check_output(&output)?;
        request.outputs.push(output.name);
    }
    request.model = message.model_name;
    Ok(request)
}

/// About how many bytes [`request`] has to look at, counted up to `enough`. Plain tensors are only handed on.
pub(crate) fn work_size(sent: &message::Request, enough: usize) -> usize {
    let mut raw = sent.raw.iter();
    let mut size = 0;
    for input in &sent.message.inputs {
        if size >= enough {
            break;
        }
        size += match (&input.contents, datatype::from_wire_name(&input.datatype)) {
            (Some(contents), _) => contents::size(contents, enough),
            (None, DataType::TypeString) => {
                raw.next().filter(|data| data.as_slice().is_none()).map_or(0, TensorData::len)
            }
            (None, _) => raw.next().map_or(0, |_| 0),
        };
    }
    size
}

fn wrong_type(name: &str, expected: &str) -> ServeError {
    ServeError::invalid(format!("invalid value type for '{name}' parameter, expected {expected}."))
}

fn flag(name: &str, choice: Option<&ParameterChoice>) -> Result<bool, ServeError> {
    match choice {
        Some(ParameterChoice::BoolParam(value)) => Ok(*value),
        _ => Err(wrong_type(name, "bool_param")),
    }
}

fn set_parameter(
    request: &mut InferRequest,
    name: String,
    choice: Option<ParameterChoice>,
) -> Result<(), ServeError> {
    use ParameterChoice::{BoolParam, DoubleParam, Int64Param, StringParam, Uint64Param};
    match name.as_str() {
        "sequence_id" => {
            request.correlation = match choice {
                Some(Int64Param(0)) => Correlation::None,
                Some(Int64Param(value)) => Correlation::Number(value.cast_unsigned()),
                Some(StringParam(value)) if value.is_empty() => Correlation::None,
                Some(StringParam(value)) => Correlation::Text(value),
                _ => return Err(wrong_type(&name, "int64_param or string_param")),
            };
        }
        "sequence_start" => request.sequence_start = flag(&name, choice.as_ref())?,
        "sequence_end" => request.sequence_end = flag(&name, choice.as_ref())?,
        "priority" => {
            request.priority = match choice {
                Some(Int64Param(value)) => u64::try_from(value)
                    .map_err(|_| ServeError::invalid("invalid value for 'priority', expected value >= 0."))?,
                Some(Uint64Param(value)) => value,
                _ => return Err(wrong_type(&name, "int64_param or uint64_param")),
            };
        }
        "timeout" => {
            request.timeout_us = match choice {
                Some(Int64Param(value)) => value.cast_unsigned(),
                _ => return Err(wrong_type(&name, "int64_param")),
            };
        }
        reserved if reserved.starts_with(RESERVED_PREFIX) => {
            return Err(ServeError::invalid(format!(
                "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys \
                 starting with 'triton_' are allowed: {EMPTY_FINAL_RESPONSE}"
            )));
        }
        _ => {
            let value = match choice {
                Some(Int64Param(value)) => ParameterValue::Int64(value),
                Some(BoolParam(value)) => ParameterValue::Bool(value),
                Some(StringParam(value)) => ParameterValue::String(value),
                Some(DoubleParam(value)) => ParameterValue::Double(value),
                _ => return Err(wrong_type(&name, "int64_param, bool_param, or string_param")),
            };
            request.parameters.push((name, value));
        }
    }
    Ok(())
}

fn convert_input(
    model: &str,
    input: InferInputTensor,
    uses_raw: bool,
    raw: &mut impl Iterator<Item = TensorData>,
) -> Result<InputTensor, ServeError> {
    let subject = Subject { input: &input.name, model };
    if input.shape.len() > RANK_MAX {
        return Err(too_many_dimensions(&input.name));
    }
    let datatype = datatype::from_wire_name(&input.datatype);
    let data = if let Some(region) = region(&input.name, &input.parameters)? {
        if input.contents.is_some() {
            return Err(ServeError::invalid(format!(
                "unexpected 'content' provided when using shared memory for input tensor '{}' for model '{model}'",
                input.name
            )));
        }
        return Err(unknown_region(region));
    } else if let Some(contents) = &input.contents {
        if uses_raw {
            return Err(ServeError::invalid(format!(
                "contents field must not be specified when using raw_input_contents for '{}' for model '{model}'",
                input.name
            )));
        }
        contents::bytes(subject, datatype, contents)?.into()
    } else {
        let data = raw.next().ok_or_else(|| {
            ServeError::invalid(format!(
                "unable to find data for input tensor '{}' for model '{model}' in request.",
                input.name
            ))
        })?;
        // Strings have to be looked at.
        if datatype == DataType::TypeString { joined(&data).into() } else { data }
    };
    Ok(InputTensor { name: input.name, datatype, shape: input.shape, data })
}

/// The region that a tensor's parameters name, if any.
fn region<'a>(tensor: &str, parameters: &'a Parameters) -> Result<Option<&'a str>, ServeError> {
    if parameters.is_empty() {
        return Ok(None);
    }
    let choice = |name| parameters.get(name).map(|parameter| parameter.parameter_choice.as_ref());
    let wrong = |name: &str, expected: &str| {
        ServeError::invalid(format!(
            "invalid value type for '{name}' parameter for tensor '{tensor}', expected {expected}."
        ))
    };
    let region = match choice("shared_memory_region") {
        None => None,
        Some(Some(ParameterChoice::StringParam(region))) => Some(region.as_str()),
        Some(_) => return Err(wrong("shared_memory_region", "string_param")),
    };
    for name in ["shared_memory_offset", "shared_memory_byte_size"] {
        match choice(name) {
            None => {}
            Some(_) if region.is_none() => {
                return Err(ServeError::invalid(format!(
                    "'{name}' can not be specified without 'shared_memory_region' parameter for tensor '{tensor}'"
                )));
            }
            Some(Some(ParameterChoice::Int64Param(_))) => {}
            Some(_) => return Err(wrong(name, "int64_param")),
        }
    }
    if region.is_some() && choice("shared_memory_byte_size").is_none() {
        return Err(ServeError::invalid(format!(
            "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor \
             '{tensor}'"
        )));
    }
    Ok(region)
}

/// Regions cannot be registered yet, so none is known.
fn unknown_region(region: &str) -> ServeError {
    ServeError::not_found(format!("Unable to find shared memory region: '{region}'"))
}

fn check_output(output: &InferRequestedOutputTensor) -> Result<(), ServeError> {
    if output.parameters.is_empty() {
        return Ok(());
    }
    let region = region(&output.name, &output.parameters)?;
    let Some(classes) = output.parameters.get("classification") else {
        return region.map_or(Ok(()), |region| Err(unknown_region(region)));
    };
    match classes.parameter_choice {
        Some(ParameterChoice::Int64Param(classes)) if classes > 0 => {}
        Some(ParameterChoice::Int64Param(_)) => {
            return Err(ServeError::invalid("invalid value for 'classification' parameter, expected >= 0"));
        }
        _ => {
            return Err(ServeError::invalid(
                "invalid value type for 'classification' parameter, expected int64_param",
            ));
        }
    }
    if region.is_some() {
        return Err(ServeError::invalid("output can't set both 'shared_memory_region' and 'classification'"));
    }
    Err(ServeError::unsupported("classification of outputs is not supported yet"))
}

/// A response → a message. Tensors are handed over, not copied.
pub(crate) fn response(response: InferResponse) -> Result<ModelInferResponse, ServeError> {
    let mut message = ModelInferResponse {
        model_name: response.model,
        model_version: response.version.to_string(),
        id: response.id,
        ..ModelInferResponse::default()
    };
    for (name, value) in response.parameters {
        message.parameters.insert(name, response_parameter(value)?);
    }
    message.outputs.reserve_exact(response.outputs.len());
    message.raw_output_contents.reserve_exact(response.outputs.len());
    for output in response.outputs {
        message.outputs.push(InferOutputTensor {
            name: output.name,
            datatype: datatype::wire_name(output.datatype).to_owned(),
            shape: output.shape,
            ..InferOutputTensor::default()
        });
        message.raw_output_contents.push(output.data);
    }
    let size = message.encoded_len();
    if size > MESSAGE_SIZE_MAX {
        return Err(ServeError::invalid(format!(
            "Response has byte size {size} which exceeds gRPC's byte size limit {MESSAGE_SIZE_MAX}."
        )));
    }
    Ok(message)
}

fn response_parameter(value: ParameterValue) -> Result<InferParameter, ServeError> {
    let choice = match value {
        ParameterValue::Bool(value) => ParameterChoice::BoolParam(value),
        ParameterValue::Int64(value) => ParameterChoice::Int64Param(value),
        ParameterValue::Double(value) => ParameterChoice::DoubleParam(value),
        ParameterValue::String(value) => ParameterChoice::StringParam(value),
        ParameterValue::Bytes(_) => {
            return Err(ServeError::unsupported(
                "Response parameter of type 'TRITONSERVER_PARAMETER_BYTES' is not currently supported",
            ));
        }
    };
    Ok(InferParameter { parameter_choice: Some(choice) })
}

#[cfg(test)]
mod tests;
