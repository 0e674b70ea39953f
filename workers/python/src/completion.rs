//! Reads what a model's `auto_complete_config` made of its configuration.
//!
//! Only what the API lets a model set is taken over; everything else stays as it was sent. The supervisor validates the
//! result like any other configuration.

use nereid_worker::proto::inference::{
    DataType, ModelConfig, ModelDynamicBatching, ModelInput, ModelOutput, ModelTransactionPolicy,
    model_config::SchedulingChoice,
};
use serde_json::Value;

/// The configuration with the model's changes; the text says what is wrong with them.
pub(crate) fn apply(config: &ModelConfig, completed: &str) -> Result<ModelConfig, String> {
    let mut config = config.clone();
    let completed: Value = serde_json::from_str(completed).map_err(|error| error.to_string())?;
    let size = &completed["max_batch_size"];
    config.max_batch_size = number(size)
        .and_then(|size| i32::try_from(size).ok())
        .ok_or_else(|| format!("max_batch_size is {size}; it must be a 32-bit integer"))?;
    for (position, tensor) in tensors(&completed, "input")?.iter().enumerate() {
        let place = || format!("input {position}");
        let name = name(tensor).ok_or_else(|| format!("{} has no name", place()))?;
        let known = config.input.iter().position(|input| input.name == name);
        let input = match known {
            Some(known) => &mut config.input[known],
            None => {
                config.input.push(ModelInput { name: name.to_owned(), ..ModelInput::default() });
                config.input.last_mut().ok_or_else(place)?
            }
        };
        input.set_data_type(data_type(tensor)?);
        input.dims = dims(tensor)?;
        if let Some(optional) = tensor["optional"].as_bool() {
            input.optional = optional;
        }
    }
    for (position, tensor) in tensors(&completed, "output")?.iter().enumerate() {
        let place = || format!("output {position}");
        let name = name(tensor).ok_or_else(|| format!("{} has no name", place()))?;
        let known = config.output.iter().position(|output| output.name == name);
        let output = match known {
            Some(known) => &mut config.output[known],
            None => {
                config.output.push(ModelOutput { name: name.to_owned(), ..ModelOutput::default() });
                config.output.last_mut().ok_or_else(place)?
            }
        };
        output.set_data_type(data_type(tensor)?);
        output.dims = dims(tensor)?;
    }
    if completed.get("dynamic_batching").is_some() && config.scheduling_choice.is_none() {
        config.scheduling_choice = Some(SchedulingChoice::DynamicBatching(ModelDynamicBatching::default()));
    }
    if let Some(decoupled) = completed["model_transaction_policy"]["decoupled"].as_bool() {
        config.model_transaction_policy = Some(ModelTransactionPolicy { decoupled });
    }
    Ok(config)
}

fn tensors<'a>(config: &'a Value, kind: &str) -> Result<&'a [Value], String> {
    match config.get(kind) {
        None => Ok(&[]),
        Some(Value::Array(tensors)) => Ok(tensors),
        Some(other) => Err(format!("{kind} is {other}; it must be a list")),
    }
}

fn name(tensor: &Value) -> Option<&str> {
    tensor["name"].as_str().filter(|name| !name.is_empty())
}

fn data_type(tensor: &Value) -> Result<DataType, String> {
    let found = &tensor["data_type"];
    let data_type = match found {
        // Still to be completed by someone else, or refused.
        Value::Null => Some(DataType::TypeInvalid),
        Value::String(name) => DataType::from_str_name(name),
        other => number(other).and_then(|n| i32::try_from(n).ok()).and_then(|n| DataType::try_from(n).ok()),
    };
    data_type.ok_or_else(|| format!("tensor {}: {found} is no data type such as TYPE_FP32", tensor["name"]))
}

fn dims(tensor: &Value) -> Result<Vec<i64>, String> {
    let found = &tensor["dims"];
    let dims = match found {
        Value::Null => Some(Vec::new()),
        Value::Array(dims) => dims.iter().map(number).collect(),
        _ => None,
    };
    dims.ok_or_else(|| {
        format!("tensor {}: dims are {found}; they must be a list of integers", tensor["name"])
    })
}

/// 64-bit integers may be strings in protobuf's JSON form.
fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
