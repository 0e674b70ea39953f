//! Parameters of requests and responses: JSON for the model, typed values for the protocol.

use crate::exceptions::{TritonModelException, type_text};
use nereid_worker::{Value, proto::worker::Parameter};
use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyInt, PyString},
};

/// The parameters that a model gives: names and values.
pub(crate) type Parameters = Vec<(String, Value)>;

/// Reads a model's dict; None stands for an empty one.
pub(crate) fn from_dict(parameters: Option<&Bound<'_, PyAny>>) -> PyResult<Parameters> {
    let Some(parameters) = parameters.filter(|parameters| !parameters.is_none()) else {
        return Ok(Vec::new());
    };
    let dict = parameters
        .cast::<PyDict>()
        .map_err(|_| TritonModelException::new_err(format!("Expect dict, got {}", type_text(parameters))))?;
    dict.iter()
        .map(|(name, value)| {
            let name = name.cast::<PyString>().map_err(|_| {
                TritonModelException::new_err(format!(
                    "Expect parameters keys to have type str, found type {}",
                    type_text(&name)
                ))
            })?;
            Ok((name.to_cow()?.into_owned(), value_of(&value)?))
        })
        .collect()
}

fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // bool is an int too, so it comes first.
    if let Ok(flag) = value.cast::<PyBool>() {
        Ok(Value::BoolValue(flag.is_true()))
    } else if value.is_instance_of::<PyInt>() {
        Ok(Value::Int64Value(value.extract()?))
    } else if let Ok(text) = value.cast::<PyString>() {
        Ok(Value::StringValue(text.to_cow()?.into_owned()))
    } else {
        Err(TritonModelException::new_err(format!(
            "Expect parameters values to have type bool/int/str, found type {}",
            type_text(value)
        )))
    }
}

/// The JSON text that a model reads.
pub(crate) fn to_json(parameters: &[(String, Value)]) -> String {
    if parameters.is_empty() {
        return "{}".to_owned();
    }
    let object = parameters.iter().filter_map(|(name, value)| {
        let value = match value {
            Value::BoolValue(flag) => (*flag).into(),
            Value::Int64Value(number) => (*number).into(),
            Value::StringValue(text) => text.as_str().into(),
            Value::DoubleValue(number) => (*number).into(),
            // JSON has no bytes, and models know no such parameter.
            Value::BytesValue(_) => return None,
        };
        Some((name.clone(), value))
    });
    serde_json::Value::Object(object.collect()).to_string()
}

/// A request's parameters as the protocol has them.
pub(crate) fn from_protocol(parameters: &[Parameter]) -> Parameters {
    let valued = parameters.iter().filter_map(|one| Some((one.name.clone(), one.value.clone()?)));
    valued.collect()
}
