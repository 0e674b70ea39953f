//! Checks a tensor's descriptor before anything is believed of it.
//!
//! A descriptor arrives in a packet, so it cannot change while it is checked. Whether the tensor is one that the model
//! may answer with is the caller's to decide; here it is only made sure that it is a tensor and lies where it can.

use crate::datatype::{DataType, ShapeError, byte_len, element_count};
use nereid_proto::worker;

/// The most dimensions.
pub const MAX_RANK: usize = 64;
/// The longest name, in bytes.
pub const MAX_NAME: usize = 1024;
/// Bytes that an element of a BYTES tensor takes at least: its length.
const BYTES_PREFIX: u64 = 4;
/// So many bytes of a name are repeated in an error.
const NAME_IN_ERROR: usize = 64;

/// What to hold a descriptor against.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most dimensions.
    pub rank: usize,
    /// The longest name, in bytes.
    pub name: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rank: MAX_RANK, name: MAX_NAME }
    }
}

/// What an accepted descriptor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The element type.
    pub datatype: DataType,
    /// Elements in the tensor.
    pub elements: u64,
    /// Where it begins in its segment.
    pub offset: u64,
    /// Its bytes; `offset + length` is within the segment.
    pub length: u64,
}

/// A descriptor that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tensor '{name}': {fault}")]
pub struct DescriptorError {
    /// The beginning of the name that the descriptor gives.
    pub name: String,
    /// Why.
    pub fault: Fault,
}

/// Why a descriptor was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("its name has {length} bytes, over the limit of {limit}")]
    Name { length: usize, limit: usize },
    #[error("it has {rank} dimensions, over the limit of {limit}")]
    Rank { rank: usize, limit: usize },
    #[error("{0} is not the number of a data type")]
    DataType(u32),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("{length} bytes at {offset} do not lie within its segment of {segment} bytes")]
    OutOfBounds { offset: u64, length: u64, segment: u64 },
    #[error("{length} bytes told, but {datatype} of its shape takes {expected}")]
    Length { datatype: DataType, length: u64, expected: u64 },
    #[error("{length} bytes told, but {elements} BYTES elements take 4 bytes each at least")]
    BytesLength { length: u64, elements: u64 },
    #[error("there is no segment {0}")]
    UnknownSegment(u32),
}

/// Checks a descriptor against the length of the segment that it names.
pub fn check(tensor: &worker::Tensor, segment_len: u64, limits: Limits) -> Result<Checked, DescriptorError> {
    examine(tensor, segment_len, limits).map_err(|fault| refuse(tensor, fault))
}

pub(crate) fn refuse(tensor: &worker::Tensor, fault: Fault) -> DescriptorError {
    let mut end = tensor.name.len().min(NAME_IN_ERROR);
    while !tensor.name.is_char_boundary(end) {
        end -= 1;
    }
    DescriptorError { name: tensor.name[..end].to_owned(), fault }
}

fn examine(tensor: &worker::Tensor, segment_len: u64, limits: Limits) -> Result<Checked, Fault> {
    let &worker::Tensor { offset, length, .. } = tensor;
    if tensor.name.len() > limits.name {
        return Err(Fault::Name { length: tensor.name.len(), limit: limits.name });
    }
    if tensor.shape.len() > limits.rank {
        return Err(Fault::Rank { rank: tensor.shape.len(), limit: limits.rank });
    }
    let datatype = DataType::from_number(tensor.data_type).ok_or(Fault::DataType(tensor.data_type))?;
    let elements = element_count(&tensor.shape)?;
    match byte_len(datatype, &tensor.shape)? {
        Some(expected) if expected != length => return Err(Fault::Length { datatype, length, expected }),
        // An honest count of elements is bounded by the bytes, so that nobody reserves room for a dishonest one.
        None if elements.checked_mul(BYTES_PREFIX).is_none_or(|least| least > length) => {
            return Err(Fault::BytesLength { length, elements });
        }
        _ => {}
    }
    if offset.checked_add(length).is_none_or(|end| end > segment_len) {
        return Err(Fault::OutOfBounds { offset, length, segment: segment_len });
    }
    Ok(Checked { datatype, elements, offset, length })
}

#[cfg(test)]
mod tests;
