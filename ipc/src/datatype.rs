//! The element types of tensors, and checked arithmetic on shapes.
//!
//! Deliberately not here: conversion of elements, and the contents of BYTES tensors (see [`elements`](crate::elements)).

pub use nereid_proto::datatype::DataType;

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
