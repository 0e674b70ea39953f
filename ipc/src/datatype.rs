//! The element types of tensors, their names and sizes, and checked arithmetic on shapes.
//!
//! Deliberately not here: conversion of elements, and the contents of BYTES tensors (see [`elements`](crate::elements)).

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

    /// The type with that number in `inference.DataType`; none for 0, which names no type.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::find(|row| row.1 == number)
    }

    /// Its number in `inference.DataType`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.row().1
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

/// A shape that no tensor can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("dimension {index} is {value}; it must be 0 or more")]
    Negative { index: usize, value: i64 },
    #[error("more elements or bytes than 64 bits can count")]
    Overflow,
}

/// How many elements a tensor of that shape has. A shape without dimensions is a scalar: one.
pub fn element_count(shape: &[i64]) -> Result<u64, ShapeError> {
    let mut count = Some(1_u64);
    let mut empty = false;
    for (index, &value) in shape.iter().enumerate() {
        let size = u64::try_from(value).map_err(|_| ShapeError::Negative { index, value })?;
        empty |= size == 0;
        count = count.and_then(|count| count.checked_mul(size));
    }
    if empty { Ok(0) } else { count.ok_or(ShapeError::Overflow) }
}

/// How many bytes a tensor of that type and shape has; none for [`DataType::Bytes`], where the shape does not tell.
pub fn byte_len(datatype: DataType, shape: &[i64]) -> Result<Option<u64>, ShapeError> {
    let count = element_count(shape)?;
    let Some(size) = datatype.byte_size() else { return Ok(None) };
    let size = u64::try_from(size).map_err(|_| ShapeError::Overflow)?;
    count.checked_mul(size).map(Some).ok_or(ShapeError::Overflow)
}

#[cfg(test)]
mod tests;
