//! The element types of tensors: one table of their numbers, names and sizes, for everything that speaks of them.
//!
//! The generated `inference.DataType` may be any number and has a value for "no type"; this one is always a type.

use crate::inference;
use std::fmt;

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataType {
    Bool,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Int8,
    Int16,
    Int32,
    Int64,
    Fp16,
    Fp32,
    Fp64,
    /// Elements of varying length, each after its length as a little-endian `u32`.
    Bytes,
    Bf16,
}

/// Type, number in the protocol, name on the wire, name in a model configuration, bytes per element.
type Row = (DataType, u32, &'static str, &'static str, Option<usize>);

/// In the order of the enum.
const TABLE: [Row; 14] = [
    (DataType::Bool, 1, "BOOL", "TYPE_BOOL", Some(1)),
    (DataType::Uint8, 2, "UINT8", "TYPE_UINT8", Some(1)),
    (DataType::Uint16, 3, "UINT16", "TYPE_UINT16", Some(2)),
    (DataType::Uint32, 4, "UINT32", "TYPE_UINT32", Some(4)),
    (DataType::Uint64, 5, "UINT64", "TYPE_UINT64", Some(8)),
    (DataType::Int8, 6, "INT8", "TYPE_INT8", Some(1)),
    (DataType::Int16, 7, "INT16", "TYPE_INT16", Some(2)),
    (DataType::Int32, 8, "INT32", "TYPE_INT32", Some(4)),
    (DataType::Int64, 9, "INT64", "TYPE_INT64", Some(8)),
    (DataType::Fp16, 10, "FP16", "TYPE_FP16", Some(2)),
    (DataType::Fp32, 11, "FP32", "TYPE_FP32", Some(4)),
    (DataType::Fp64, 12, "FP64", "TYPE_FP64", Some(8)),
    (DataType::Bytes, 13, "BYTES", "TYPE_STRING", None),
    (DataType::Bf16, 14, "BF16", "TYPE_BF16", Some(2)),
];

impl DataType {
    /// Every type, in the order of their numbers.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Bool; TABLE.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = TABLE[index].0;
            index += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    fn find(matches: impl Fn(&Row) -> bool) -> Option<Self> {
        TABLE.iter().find(|row| matches(row)).map(|row| row.0)
    }

    /// The type with that number in `inference.DataType`, signed or not; none for 0, which names no type.
    #[must_use]
    pub fn from_number(number: impl TryInto<u32>) -> Option<Self> {
        let number = number.try_into().ok()?;
        Self::find(|row| row.1 == number)
    }

    /// Its number in `inference.DataType`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.row().1
    }

    /// The type that the protocol's value names, if it names one.
    #[must_use]
    pub fn from_proto(datatype: inference::DataType) -> Option<Self> {
        Self::from_number(i32::from(datatype))
    }

    /// The number as fields of the configuration hold it.
    #[must_use]
    pub fn config_number(self) -> i32 {
        inference::DataType::from(self).into()
    }

    /// The type of that name in requests and metadata, such as `FP32`.
    #[must_use]
    pub fn from_wire_name(name: &str) -> Option<Self> {
        Self::find(|row| row.2 == name)
    }

    /// Its name in requests and metadata.
    #[must_use]
    pub const fn wire_name(self) -> &'static str {
        self.row().2
    }

    /// The type of that name in a model configuration, such as `TYPE_FP32`.
    #[must_use]
    pub fn from_config_name(name: &str) -> Option<Self> {
        Self::find(|row| row.3 == name)
    }

    /// Its name in a model configuration.
    #[must_use]
    pub const fn config_name(self) -> &'static str {
        self.row().3
    }

    /// Bytes per element; none for [`DataType::Bytes`].
    #[must_use]
    pub const fn byte_size(self) -> Option<usize> {
        self.row().4
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wire_name())
    }
}

impl From<DataType> for inference::DataType {
    fn from(datatype: DataType) -> Self {
        i32::try_from(datatype.number())
            .ok()
            .and_then(|number| Self::try_from(number).ok())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
