//! The tensor data types, and what is shown where a configuration or a request names none.

use nereid_proto::inference;

pub use nereid_proto::datatype::DataType;

/// What the wire calls a type that is none.
pub const INVALID_WIRE_NAME: &str = "<invalid>";

/// The configuration's name of a type's number, `TYPE_INVALID` where there is none.
#[must_use]
pub fn config_name(number: i32) -> &'static str {
    inference::DataType::try_from(number).unwrap_or(inference::DataType::TypeInvalid).as_str_name()
}
