//! A model's response → a reply.
//!
//! The JSON part is written into one buffer. Binary tensors follow it as they are, without a copy unless they are
//! small: then they are joined with the JSON, so that one write sends everything.

use std::collections::VecDeque;

use bytes::Bytes;
use nereid_core::error::ServeError;

use super::outputs::OutputPlan;
use crate::frontend::datatype;
use crate::frontend::http::json::number;
use crate::frontend::http::json::write::{write_array, write_string};
use crate::frontend::http::tensor;
use crate::serve::request::{InferResponse, OutputTensor, ParameterValue};

/// Tensors up to here are copied behind what comes before them.
const JOINED_TENSOR: usize = 16 * 1024;

/// The parts of a reply.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// JSON and, behind it, small tensors.
    pub(crate) first: Bytes,
    /// What follows.
    pub(crate) rest: VecDeque<Bytes>,
    /// The length of the JSON part, if binary tensors follow it.
    pub(crate) json_length: Option<usize>,
}

/// Encodes a response.
pub(crate) fn encode(response: InferResponse, plan: &OutputPlan) -> Result<Encoded, ServeError> {
    let mut out = Vec::with_capacity(capacity(&response, plan));
    out.push(b'{');
    if !response.id.is_empty() {
        out.extend_from_slice(b"\"id\":");
        write_string(&mut out, response.id.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(b"\"model_name\":");
    write_string(&mut out, response.model.as_bytes());
    out.extend_from_slice(b",\"model_version\":\"");
    number::write_signed(&mut out, response.version);
    out.push(b'"');
    if !response.parameters.is_empty() {
        out.extend_from_slice(b",\"parameters\":");
        write_parameters(&mut out, &response.parameters)?;
    }
    out.extend_from_slice(b",\"outputs\":[");
    for (index, output) in response.outputs.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_output(&mut out, output, plan.is_binary(&output.name))?;
    }
    out.extend_from_slice(b"]}");
    Ok(append_binary(out, response.outputs, plan))
}

/// A guess at the JSON part's length that is seldom too small.
fn capacity(response: &InferResponse, plan: &OutputPlan) -> usize {
    let outputs = response.outputs.iter().map(|output| {
        let data = output.data.len();
        let written = if !plan.is_binary(&output.name) {
            data.saturating_mul(4)
        } else if data <= JOINED_TENSOR {
            data
        } else {
            0
        };
        128 + written
    });
    256 + outputs.sum::<usize>()
}

fn append_binary(mut out: Vec<u8>, outputs: Vec<OutputTensor>, plan: &OutputPlan) -> Encoded {
    let json_length = out.len();
    let mut rest = VecDeque::new();
    let mut binary = false;
    for output in outputs {
        if output.data.is_empty() || !plan.is_binary(&output.name) {
            continue;
        }
        binary = true;
        if rest.is_empty() && output.data.len() <= JOINED_TENSOR {
            out.extend_from_slice(&output.data);
        } else {
            rest.push_back(output.data);
        }
    }
    Encoded { first: out.into(), rest, json_length: binary.then_some(json_length) }
}

fn write_output(out: &mut Vec<u8>, output: &OutputTensor, binary: bool) -> Result<(), ServeError> {
    out.extend_from_slice(b"{\"name\":");
    write_string(out, output.name.as_bytes());
    out.extend_from_slice(b",\"datatype\":\"");
    out.extend_from_slice(datatype::wire_name(output.datatype).as_bytes());
    out.extend_from_slice(b"\",\"shape\":");
    write_array(out, &output.shape, |out, &dimension| number::write_signed(out, dimension));
    if binary {
        out.extend_from_slice(b",\"parameters\":{\"binary_data_size\":");
        number::write_unsigned(out, output.data.len() as u64);
        out.push(b'}');
    } else {
        out.extend_from_slice(b",\"data\":");
        tensor::encode(out, output)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_parameters(out: &mut Vec<u8>, parameters: &[(String, ParameterValue)]) -> Result<(), ServeError> {
    out.push(b'{');
    for (index, (name, value)) in parameters.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, name.as_bytes());
        out.push(b':');
        match value {
            ParameterValue::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            ParameterValue::Int64(value) => number::write_signed(out, *value),
            ParameterValue::Double(value) => number::write_double(out, *value),
            ParameterValue::String(value) => write_string(out, value.as_bytes()),
            ParameterValue::Bytes(_) => {
                return Err(ServeError::unsupported(
                    "Response parameter of type 'TRITONSERVER_PARAMETER_BYTES' is not currently supported",
                ));
            }
        }
    }
    out.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests;
