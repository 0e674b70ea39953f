//! The configuration message as data: its descriptor, and the way between the generated type and a dynamic message.
//! Readers and writers walk the descriptor, so that a field added to the protocol needs no code here.

use super::RawConfig;
use nereid_proto::FILE_DESCRIPTOR_SET;
use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, EnumDescriptor, FieldDescriptor, MapKey, MessageDescriptor, Value,
};
use std::sync::LazyLock;

const MODEL_CONFIG: &str = "inference.ModelConfig";

static DESCRIPTOR: LazyLock<MessageDescriptor> = LazyLock::new(|| {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET)
        .expect("the embedded descriptors are well-formed")
        .get_message_by_name(MODEL_CONFIG)
        .expect("the embedded descriptors hold the model configuration")
});

/// The descriptor of `inference.ModelConfig`.
pub(super) fn descriptor() -> MessageDescriptor {
    DESCRIPTOR.clone()
}

pub(super) fn to_dynamic(raw: &RawConfig) -> DynamicMessage {
    DynamicMessage::decode(descriptor(), raw.encode_to_vec().as_slice())
        .expect("what was encoded from this schema decodes with it")
}

pub(super) fn from_dynamic(message: &DynamicMessage) -> RawConfig {
    message.transcode_to().expect("the generated type has the fields of its own descriptor")
}

/// The number that an enum's value has, by its name in any case.
pub(super) fn enum_number_ignoring_case(desc: &EnumDescriptor, name: &str) -> Option<i32> {
    desc.get_value_by_name(name)
        .or_else(|| desc.values().find(|value| value.name().eq_ignore_ascii_case(name)))
        .map(|value| value.number())
}

/// A value as the key of a map; `None` for kinds that are no keys.
pub(super) fn map_key(value: Value) -> Option<MapKey> {
    match value {
        Value::Bool(key) => Some(MapKey::Bool(key)),
        Value::I32(key) => Some(MapKey::I32(key)),
        Value::I64(key) => Some(MapKey::I64(key)),
        Value::U32(key) => Some(MapKey::U32(key)),
        Value::U64(key) => Some(MapKey::U64(key)),
        Value::String(key) => Some(MapKey::String(key)),
        _ => None,
    }
}

/// The other member of the field's oneof that is among the fields seen, by name.
pub(super) fn oneof_rival(field: &FieldDescriptor, seen: &[u32]) -> Option<String> {
    let oneof = field.containing_oneof()?;
    let rival =
        oneof.fields().find(|other| other.number() != field.number() && seen.contains(&other.number()))?;
    Some(rival.name().to_owned())
}

/// The message's name without its package, for people.
pub(super) fn short_name(desc: &MessageDescriptor) -> &str {
    let name = desc.full_name();
    name.strip_prefix("inference.").unwrap_or(name)
}

/// "; did you mean 'x'?" when exactly one known name is closest to the one written, and close enough.
pub(super) fn suggestion<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    let limit = 1 + wrong.chars().count() / 4;
    let mut near: Vec<(usize, &str)> =
        known.map(|name| (distance(wrong, name), name)).filter(|(distance, _)| *distance <= limit).collect();
    near.sort_unstable();
    match near.as_slice() {
        [(nearest, _), (next, _), ..] if nearest == next => String::new(),
        [(_, name), ..] => format!("; did you mean '{name}'?"),
        [] => String::new(),
    }
}

/// Edit distance between two short names.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
