//! Names of element types as clients write them.
//!
//! The request types use the protocol's enum, which has a value for "no such type"; names and sizes come from the one
//! table in `nereid_proto`.

use nereid_proto::datatype::DataType as Element;
use nereid_proto::inference::DataType;

/// The type of that name; `TypeInvalid` if there is none.
pub(crate) fn from_wire_name(name: &str) -> DataType {
    Element::from_wire_name(name).map_or(DataType::TypeInvalid, DataType::from)
}

/// The name of a type, `<invalid>` for none.
pub(crate) fn wire_name(datatype: DataType) -> &'static str {
    Element::from_proto(datatype).map_or("<invalid>", Element::wire_name)
}

/// Bytes per element; none for BYTES and for no type.
pub(crate) fn byte_size(datatype: DataType) -> Option<usize> {
    Element::from_proto(datatype).and_then(Element::byte_size)
}
