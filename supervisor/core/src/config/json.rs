//! Reads a configuration from JSON: the override that a load request carries.
//!
//! Protobuf's mapping: field names as in the protocol (or in lower camel case), enums by name in any case or by
//! number, 64-bit integers as numbers or strings, `null` for "not given". Unknown fields are errors. Errors tell the
//! place as a path, such as `input[1].dims[0]`.

use super::RawConfig;
use super::schema;
use crate::error::ServeError;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, Value};
use serde_json::Value as Json;

/// The longest text that is read.
pub const MAX_TEXT: usize = 16 << 20;

/// The configuration that a text holds, exactly as written: no defaults are filled in.
pub fn parse(text: &str) -> Result<RawConfig, ServeError> {
    if text.len() > MAX_TEXT {
        return Err(ServeError::invalid(format!(
            "the configuration has {} bytes; at most {MAX_TEXT} are read",
            text.len()
        )));
    }
    // serde_json bounds the depth itself.
    let json: Json = serde_json::from_str(text)
        .map_err(|error| ServeError::invalid(format!("the configuration is no valid JSON: {error}")))?;
    let message = message(&schema::descriptor(), &json).map_err(Misfit::into_error)?;
    Ok(schema::from_dynamic(&message))
}

/// What does not fit, and where; the path is put together on the way out.
struct Misfit {
    path: String,
    message: String,
}

impl Misfit {
    fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    fn in_field(mut self, name: &str) -> Self {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{separator}{}", self.path);
        self
    }

    fn at_key(mut self, key: impl std::fmt::Display) -> Self {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("[{key}]{separator}{}", self.path);
        self
    }

    fn into_error(self) -> ServeError {
        if self.path.is_empty() {
            return ServeError::invalid(self.message);
        }
        ServeError::invalid(format!("{}: {}", self.path, self.message))
    }
}

fn describe(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

fn misfit<T>(wanted: &str, found: &Json) -> Result<T, Misfit> {
    let shown = match found {
        Json::Bool(_) | Json::Number(_) | Json::String(_) => format!("{} ({found})", describe(found)),
        other => describe(other).to_owned(),
    };
    Err(Misfit::new(format!("expected {wanted}, found {shown}")))
}

fn message(desc: &MessageDescriptor, json: &Json) -> Result<DynamicMessage, Misfit> {
    let Json::Object(members) = json else {
        return misfit("an object", json);
    };
    let mut message = DynamicMessage::new(desc.clone());
    let mut seen = Vec::new();
    for (name, value) in members {
        let field =
            desc.get_field_by_name(name).or_else(|| desc.get_field_by_json_name(name)).ok_or_else(|| {
                let known: Vec<FieldDescriptor> = desc.fields().collect();
                let hint = schema::suggestion(name, known.iter().map(FieldDescriptor::name));
                Misfit::new(format!("{} has no field named '{name}'{hint}", schema::short_name(desc)))
            })?;
        if value.is_null() {
            continue;
        }
        if seen.contains(&field.number()) {
            return Err(Misfit::new(format!("'{}' is given twice", field.name())));
        }
        if let Some(rival) = schema::oneof_rival(&field, &seen) {
            return Err(Misfit::new(format!("'{}' and '{rival}' exclude each other", field.name())));
        }
        seen.push(field.number());
        let value = field_value(&field, value).map_err(|misfit| misfit.in_field(field.name()))?;
        message.set_field(&field, value);
    }
    Ok(message)
}

fn field_value(field: &FieldDescriptor, json: &Json) -> Result<Value, Misfit> {
    if field.is_list() {
        let Json::Array(items) = json else {
            return misfit("a list", json);
        };
        let items = items.iter().enumerate();
        let values =
            items.map(|(index, item)| value(&field.kind(), item).map_err(|misfit| misfit.at_key(index)));
        return values.collect::<Result<_, _>>().map(Value::List);
    }
    let Kind::Message(entry) = field.kind() else {
        return value(&field.kind(), json);
    };
    if !field.is_map() {
        return value(&field.kind(), json);
    }
    let Json::Object(members) = json else {
        return misfit("an object", json);
    };
    let (key_kind, value_kind) = (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
    let pairs = members.iter().map(|(key, item)| {
        let entry = value(&key_kind, &Json::String(key.clone()))
            .and_then(|key| schema::map_key(key).ok_or_else(|| Misfit::new("the key has a wrong kind")))
            .and_then(|key| Ok((key, value(&value_kind, item)?)));
        entry.map_err(|misfit| misfit.at_key(format_args!("\"{key}\"")))
    });
    pairs.collect::<Result<_, _>>().map(Value::Map)
}

fn value(kind: &Kind, json: &Json) -> Result<Value, Misfit> {
    match kind {
        Kind::Message(desc) => message(desc, json).map(Value::Message),
        Kind::Enum(desc) => {
            let number = match json {
                Json::String(name) => schema::enum_number_ignoring_case(desc, name),
                other => integer::<i32>(other).filter(|number| desc.get_value(*number).is_some()),
            };
            number.map_or_else(
                || misfit(&format!("a value of {}", desc.name()), json),
                |n| Ok(Value::EnumNumber(n)),
            )
        }
        Kind::String => match json {
            Json::String(text) => Ok(Value::String(text.clone())),
            other => misfit("a string", other),
        },
        Kind::Bool => match json {
            Json::Bool(value) => Ok(Value::Bool(*value)),
            other => misfit("true or false", other),
        },
        #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
        Kind::Float => float(json).map(|value| Value::F32(value as f32)),
        Kind::Double => float(json).map(Value::F64),
        Kind::Int32 => integer(json).map_or_else(|| misfit("a 32-bit integer", json), |n| Ok(Value::I32(n))),
        Kind::Uint32 => {
            integer(json).map_or_else(|| misfit("an unsigned 32-bit integer", json), |n| Ok(Value::U32(n)))
        }
        Kind::Int64 => integer(json).map_or_else(|| misfit("a 64-bit integer", json), |n| Ok(Value::I64(n))),
        Kind::Uint64 => {
            integer(json).map_or_else(|| misfit("an unsigned 64-bit integer", json), |n| Ok(Value::U64(n)))
        }
        other => Err(Misfit::new(format!("the field has a kind that is not read from JSON: {other:?}"))),
    }
}

/// A whole number: as such, with a fraction of zero, or as decimal text.
fn integer<T: TryFrom<i128>>(json: &Json) -> Option<T> {
    let number = match json {
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(signed), _, _) => i128::from(signed),
            (_, Some(unsigned), _) => i128::from(unsigned),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a whole number, and saturating is out of range too"
            )]
            (_, _, Some(float)) if float.fract() == 0.0 => float as i128,
            _ => return None,
        },
        Json::String(text) => text.parse().ok()?,
        _ => return None,
    };
    T::try_from(number).ok()
}

fn float(json: &Json) -> Result<f64, Misfit> {
    let number = match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            digits => digits.parse().ok(),
        },
        _ => None,
    };
    number.map_or_else(|| misfit("a number", json), Ok)
}

#[cfg(test)]
mod tests;
