//! Names of element types as clients write them.
//!
//! The request types use the protocol's enum, which has a value for "no such type"; names and sizes come from the one
//! table in `nereid_ipc`.

use nereid_ipc::datatype::DataType as Element;
use nereid_proto::inference::DataType;

/// The type of that name; `TypeInvalid` if there is none.
pub(crate) fn from_wire_name(name: &str) -> DataType {
    Element::from_wire_name(name)
        .and_then(|element| i32::try_from(element.number()).ok())
        .and_then(|number| DataType::try_from(number).ok())
        .unwrap_or(DataType::TypeInvalid)
}

fn element(datatype: DataType) -> Option<Element> {
    u32::try_from(i32::from(datatype)).ok().and_then(Element::from_number)
}

/// The name of a type, `<invalid>` for none.
pub(crate) fn wire_name(datatype: DataType) -> &'static str {
    element(datatype).map_or("<invalid>", Element::wire_name)
}

/// Bytes per element; none for BYTES and for no type.
pub(crate) fn byte_size(datatype: DataType) -> Option<usize> {
    element(datatype).and_then(Element::byte_size)
}
