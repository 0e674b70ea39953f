//! JSON as the inference protocol needs it, in both directions.
//!
//! Not built on serde_json, for three reasons: tensors hold `NaN` and `Infinity`, which serde_json refuses; strings of
//! BYTES tensors are bytes, not necessarily UTF-8; and a tree of values for the numbers of a tensor would cost more
//! than the inference. [`scan`] checks a document once; [`value`] then reads members where they lie; [`number`] parses
//! and prints; [`write`] appends to one buffer.
//!
//! Deliberately not here: what any member means.

pub(crate) mod number;
pub(crate) mod scan;
pub(crate) mod value;
pub(crate) mod write;

#[cfg(test)]
mod tests;
