//! Arithmetic on shapes that a client may have chosen to overflow it.

pub(super) use crate::config::tensor::VARIABLE;

/// The most elements, and the most bytes, of a tensor.
pub(super) const MOST: u64 = i64::MAX.unsigned_abs();

/// Why a shape is none that a tensor can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Impossible {
    Negative,
    TooManyElements,
    TooManyBytes,
}

/// The elements of `rows` items of that shape.
pub(super) fn elements(item: &[i64], rows: u64) -> Result<u64, Impossible> {
    let mut count = rows;
    let mut empty = false;
    for &dim in item {
        let dim = u64::try_from(dim).map_err(|_| Impossible::Negative)?;
        // A size of zero makes the others irrelevant, whatever their product.
        empty |= dim == 0;
        if !empty {
            count =
                count.checked_mul(dim).filter(|count| *count <= MOST).ok_or(Impossible::TooManyElements)?;
        }
    }
    Ok(if empty { 0 } else { count })
}

/// The bytes of `rows` items of that shape, with elements of `size` bytes.
pub(super) fn bytes(item: &[i64], rows: u64, size: u64) -> Result<u64, Impossible> {
    let elements = elements(item, rows).map_err(|problem| match problem {
        Impossible::TooManyElements => Impossible::TooManyBytes,
        other => other,
    })?;
    elements.checked_mul(size).filter(|bytes| *bytes <= MOST).ok_or(Impossible::TooManyBytes)
}

#[cfg(test)]
mod tests;
