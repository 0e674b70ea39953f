//! The tensor data types: the configuration's names, the wire's names and the sizes.

use nereid_proto::inference;
use std::fmt;

/// A tensor's element type. Never "invalid": that is `None` where a type is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DataType {
    Bool = 1,
    Uint8 = 2,
    Uint16 = 3,
    Uint32 = 4,
    Uint64 = 5,
    Int8 = 6,
    Int16 = 7,
    Int32 = 8,
    Int64 = 9,
    Fp16 = 10,
    Fp32 = 11,
    Fp64 = 12,
    /// Strings of bytes, each preceded by its length as four bytes, little-endian.
    Bytes = 13,
    Bf16 = 14,
}

/// What the wire calls a type that is none.
pub const INVALID_WIRE_NAME: &str = "<invalid>";

impl DataType {
    pub const ALL: [Self; 14] = [
        Self::Bool,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Fp16,
        Self::Fp32,
        Self::Fp64,
        Self::Bytes,
        Self::Bf16,
    ];

    /// By the number of `inference.DataType`; `None` for the invalid type and for unknown numbers.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|datatype| datatype.number() == number)
    }

    /// The number of `inference.DataType`.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// By the name of requests and metadata. Exact: `FP32`, not `fp32`.
    #[must_use]
    pub fn from_wire_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|datatype| datatype.wire_name() == name)
    }

    /// The name in requests and metadata.
    #[must_use]
    pub const fn wire_name(self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::Uint8 => "UINT8",
            Self::Uint16 => "UINT16",
            Self::Uint32 => "UINT32",
            Self::Uint64 => "UINT64",
            Self::Int8 => "INT8",
            Self::Int16 => "INT16",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Fp16 => "FP16",
            Self::Fp32 => "FP32",
            Self::Fp64 => "FP64",
            Self::Bytes => "BYTES",
            Self::Bf16 => "BF16",
        }
    }

    /// The name in configurations: `TYPE_FP32`; strings are `TYPE_STRING` there.
    #[must_use]
    pub fn config_name(self) -> &'static str {
        config_name(self.number())
    }

    /// Bytes of an element; `None` where elements differ in size.
    #[must_use]
    pub const fn byte_size(self) -> Option<u64> {
        match self {
            Self::Bool | Self::Uint8 | Self::Int8 => Some(1),
            Self::Uint16 | Self::Int16 | Self::Fp16 | Self::Bf16 => Some(2),
            Self::Uint32 | Self::Int32 | Self::Fp32 => Some(4),
            Self::Uint64 | Self::Int64 | Self::Fp64 => Some(8),
            Self::Bytes => None,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wire_name())
    }
}

/// The configuration's name of a type's number, `TYPE_INVALID` where there is none.
#[must_use]
pub fn config_name(number: i32) -> &'static str {
    inference::DataType::try_from(number).unwrap_or(inference::DataType::TypeInvalid).as_str_name()
}
