//! Writes a configuration as the JSON of the config endpoint.
//!
//! Every field without presence is printed, also at its default; names are those of the protocol, enums are names.
//! Protobuf prints 64-bit integers as strings; the endpoint turns those that are listed here into numbers and leaves
//! the others.

use super::RawConfig;
use super::schema;
use crate::error::ServeError;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, ReflectMessage as _, Value};
use serde_json::{Map, Number, Value as Json};

/// The one layout of the JSON that there is.
pub const VERSION: u32 = 1;

/// The 64-bit fields that are printed as numbers. Clients parse the others as strings.
const NUMBERS: [&str; 14] = [
    "inference.ModelInput.dims",
    "inference.ModelOutput.dims",
    "inference.ModelTensorReshape.shape",
    "inference.ModelVersionPolicy.Specific.versions",
    "inference.ModelDynamicBatching.max_queue_delay_microseconds",
    "inference.ModelDynamicBatching.priority_levels",
    "inference.ModelDynamicBatching.default_priority_level",
    "inference.ModelQueuePolicy.default_timeout_microseconds",
    "inference.ModelSequenceBatching.max_sequence_idle_microseconds",
    "inference.ModelSequenceBatching.StrategyDirect.max_queue_delay_microseconds",
    "inference.ModelSequenceBatching.StrategyOldest.max_queue_delay_microseconds",
    "inference.ModelSequenceBatching.State.dims",
    "inference.ModelEnsembling.Step.model_version",
    "inference.ModelWarmup.Input.dims",
];

/// Refuses every layout but the one that there is.
pub fn check_version(version: u32) -> Result<(), ServeError> {
    if version == VERSION {
        return Ok(());
    }
    Err(ServeError::invalid(format!(
        "model configuration version {version} not supported, supported versions are: {VERSION}"
    )))
}

/// The configuration as the config endpoint shows it.
#[must_use]
pub fn to_json(raw: &RawConfig) -> String {
    to_value(raw).to_string()
}

/// The same, not yet text.
#[must_use]
pub fn to_value(raw: &RawConfig) -> Json {
    message(&schema::to_dynamic(raw))
}

fn message(message: &DynamicMessage) -> Json {
    let desc = message.descriptor();
    let fields = desc.fields().filter(|field| !field.supports_presence() || message.has_field(field));
    let members: Map<String, Json> = fields
        .map(|field| {
            let value = message.get_field(&field);
            (field.name().to_owned(), json(&field, &field.kind(), &value))
        })
        .collect();
    Json::Object(members)
}

fn json(field: &FieldDescriptor, kind: &Kind, value: &Value) -> Json {
    match value {
        Value::Bool(value) => Json::Bool(*value),
        Value::I32(value) => (*value).into(),
        Value::U32(value) => (*value).into(),
        Value::I64(value) if is_number(field) => (*value).into(),
        Value::U64(value) if is_number(field) => (*value).into(),
        Value::I64(value) => value.to_string().into(),
        Value::U64(value) => value.to_string().into(),
        Value::F32(value) => float(f64::from(*value), &value.to_string()),
        Value::F64(value) => float(*value, &value.to_string()),
        Value::String(text) => text.as_str().into(),
        // The configuration has no such field.
        Value::Bytes(_) => Json::Null,
        Value::EnumNumber(number) => {
            let name =
                kind.as_enum().and_then(|desc| desc.get_value(*number)).map(|value| value.name().to_owned());
            name.map_or_else(|| (*number).into(), Into::into)
        }
        Value::Message(inner) => message(inner),
        Value::List(items) => items.iter().map(|item| json(field, kind, item)).collect(),
        Value::Map(entries) => map(field, kind, entries.iter()),
    }
}

fn map<'a>(
    field: &FieldDescriptor,
    kind: &Kind,
    entries: impl Iterator<Item = (&'a MapKey, &'a Value)>,
) -> Json {
    let value_kind =
        kind.as_message().map_or_else(|| kind.clone(), |entry| entry.map_entry_value_field().kind());
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|(left, _), (right, _)| order(left, right));
    let members: Map<String, Json> =
        entries.into_iter().map(|(key, value)| (key_text(key), json(field, &value_kind, value))).collect();
    Json::Object(members)
}

fn order(left: &MapKey, right: &MapKey) -> std::cmp::Ordering {
    match (left, right) {
        (MapKey::U64(left), MapKey::U64(right)) => left.cmp(right),
        _ => key_text(left).cmp(&key_text(right)),
    }
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

fn is_number(field: &FieldDescriptor) -> bool {
    NUMBERS.contains(&field.full_name())
}

/// A number with as many digits as tell it apart (`shortest`), a whole one without a fraction; text where JSON has no
/// such number.
fn float(value: f64, shortest: &str) -> Json {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    if let Ok(whole) = shortest.parse::<i64>() {
        return whole.into();
    }
    shortest.parse::<f64>().ok().and_then(Number::from_f64).map_or(Json::Null, Json::Number)
}

#[cfg(test)]
mod tests;
