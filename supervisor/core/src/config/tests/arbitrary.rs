//! Configurations with any content, made from the descriptor, so that new fields are covered by themselves.

use crate::config::{RawConfig, schema};
use proptest::prelude::*;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};
use std::collections::HashMap;

/// Most fields are left out: a configuration with all of them is rare, and slow to make.
const FIELDS_MOST: usize = 4;

/// Any configuration that the protocol allows, sensible or not.
pub(in crate::config) fn any_config() -> impl Strategy<Value = RawConfig> {
    message(schema::descriptor()).prop_map(|message| schema::from_dynamic(&message))
}

fn message(desc: MessageDescriptor) -> BoxedStrategy<DynamicMessage> {
    let fields: Vec<FieldDescriptor> = desc.fields().collect();
    if fields.is_empty() {
        return Just(DynamicMessage::new(desc)).boxed();
    }
    prop::collection::vec(0..fields.len(), 0..=FIELDS_MOST)
        .prop_flat_map(move |chosen| {
            chosen.into_iter().map(|index| field(fields[index].clone())).collect::<Vec<_>>()
        })
        .prop_map(move |values| {
            let mut message = DynamicMessage::new(desc.clone());
            for (field, value) in values {
                // Of a oneof's members the last stays.
                message.set_field(&field, value);
            }
            message
        })
        .boxed()
}

fn field(field: FieldDescriptor) -> BoxedStrategy<(FieldDescriptor, Value)> {
    let value = match field.kind() {
        Kind::Message(entry) if field.is_map() => {
            let keys =
                value(entry.map_entry_key_field().kind()).prop_map(|key| schema::map_key(key).unwrap());
            let values = value(entry.map_entry_value_field().kind());
            let map = prop::collection::vec((keys, values), 0..3);
            map.prop_map(|pairs| Value::Map(pairs.into_iter().collect::<HashMap<MapKey, Value>>())).boxed()
        }
        kind if field.is_list() => prop::collection::vec(value(kind), 0..3).prop_map(Value::List).boxed(),
        kind => value(kind),
    };
    value.prop_map(move |value| (field.clone(), value)).boxed()
}

fn value(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Message(desc) => message(desc).prop_map(Value::Message).boxed(),
        Kind::Enum(desc) => {
            let numbers: Vec<i32> = desc.values().map(|value| value.number()).collect();
            prop::sample::select(numbers).prop_map(Value::EnumNumber).boxed()
        }
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::String => prop_oneof![any::<String>(), "[a-z]{0,6}"].prop_map(Value::String).boxed(),
        Kind::Int32 => any::<i32>().prop_map(Value::I32).boxed(),
        Kind::Uint32 => any::<u32>().prop_map(Value::U32).boxed(),
        Kind::Int64 => any::<i64>().prop_map(Value::I64).boxed(),
        Kind::Uint64 => any::<u64>().prop_map(Value::U64).boxed(),
        Kind::Float => any::<f32>().prop_map(Value::F32).boxed(),
        // Short ones: the JSON reader may be off by the last bit of a long one.
        Kind::Double => any::<i32>().prop_map(|number| Value::F64(f64::from(number) / 64.0)).boxed(),
        other => panic!("the configuration has no field of kind {other:?}"),
    }
}
