//! Element types: the library's numbers on one side, the protocol's types on the other.

use crate::ffi::session::Element;
use nereid_ipc::DataType;

/// The library's number and the protocol's type; what is missing here cannot be sent in a request.
const TABLE: [(i32, DataType); 14] = [
    (1, DataType::Fp32),
    (2, DataType::Uint8),
    (3, DataType::Int8),
    (4, DataType::Uint16),
    (5, DataType::Int16),
    (6, DataType::Int32),
    (7, DataType::Int64),
    (8, DataType::Bytes),
    (9, DataType::Bool),
    (10, DataType::Fp16),
    (11, DataType::Fp64),
    (12, DataType::Uint32),
    (13, DataType::Uint64),
    (16, DataType::Bf16),
];

/// Names of the types that cannot be sent, for error messages.
const OTHERS: [(i32, &str); 7] = [
    (14, "COMPLEX64"),
    (15, "COMPLEX128"),
    (17, "FLOAT8E4M3FN"),
    (18, "FLOAT8E4M3FNUZ"),
    (19, "FLOAT8E5M2"),
    (20, "FLOAT8E5M2FNUZ"),
    (21, "UINT4"),
];

/// The protocol's type for a number of the library's.
pub(crate) fn datatype(element: Element) -> Option<DataType> {
    TABLE.iter().find(|(number, _)| *number == element.0).map(|(_, datatype)| *datatype)
}

/// What to call an element type that has no counterpart.
pub(crate) fn name(element: Element) -> String {
    let known = OTHERS.iter().find(|(number, _)| *number == element.0);
    known.map_or_else(|| format!("element type {}", element.0), |(_, name)| (*name).to_owned())
}

/// ONNX's name for a kind of value that is not a tensor.
pub(crate) fn kind_name(kind: i32) -> &'static str {
    match kind {
        1 => "ONNX_TYPE_TENSOR",
        2 => "ONNX_TYPE_SEQUENCE",
        3 => "ONNX_TYPE_MAP",
        4 => "ONNX_TYPE_OPAQUE",
        5 => "ONNX_TYPE_SPARSETENSOR",
        6 => "ONNX_TYPE_OPTIONAL",
        _ => "ONNX_TYPE_UNKNOWN",
    }
}
