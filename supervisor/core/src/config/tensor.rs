//! The inputs and outputs of a valid configuration, as requests are checked against them.

use super::DataType;
use nereid_proto::inference::{ModelInput, ModelOutput};

/// A dimension of any size.
pub const VARIABLE: i64 = -1;

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSpec {
    pub name: String,
    pub datatype: DataType,
    /// As configured: without the batch dimension, [`VARIABLE`] for any size.
    pub dims: Vec<i64>,
    /// As requests and metadata have it: the batch dimension first, where there is one.
    pub full_dims: Vec<i64>,
    /// The shape that the model wants instead of `dims`, without the batch dimension.
    pub reshape: Option<Vec<i64>>,
    /// A request may leave it out.
    pub optional: bool,
    /// Requests may share a batch whatever their shapes.
    pub ragged: bool,
    /// It holds a shape; its values must be equal in a batch.
    pub shape_tensor: bool,
    /// Its bytes are laid out in a way that shape and type do not tell.
    pub non_linear: bool,
    /// Some of `dims` are [`VARIABLE`].
    pub variable: bool,
}

/// One output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSpec {
    pub name: String,
    pub datatype: DataType,
    /// As configured: without the batch dimension.
    pub dims: Vec<i64>,
    /// As responses and metadata have it: the batch dimension first, where there is one.
    pub full_dims: Vec<i64>,
    /// The shape that the model produces instead of `dims`.
    pub reshape: Option<Vec<i64>>,
    pub shape_tensor: bool,
    /// Relative to the model's directory; empty for none.
    pub label_filename: String,
}

impl InputSpec {
    /// `None` when the type is invalid.
    pub(super) fn of(input: &ModelInput, batched: bool) -> Option<Self> {
        Some(Self {
            name: input.name.clone(),
            datatype: DataType::from_number(input.data_type)?,
            dims: input.dims.clone(),
            full_dims: full_dims(&input.dims, batched),
            reshape: input.reshape.as_ref().map(|reshape| reshape.shape.clone()),
            optional: input.optional,
            ragged: input.allow_ragged_batch,
            shape_tensor: input.is_shape_tensor,
            non_linear: input.is_non_linear_format_io,
            variable: input.dims.contains(&VARIABLE),
        })
    }
}

impl OutputSpec {
    pub(super) fn of(output: &ModelOutput, batched: bool) -> Option<Self> {
        Some(Self {
            name: output.name.clone(),
            datatype: DataType::from_number(output.data_type)?,
            dims: output.dims.clone(),
            full_dims: full_dims(&output.dims, batched),
            reshape: output.reshape.as_ref().map(|reshape| reshape.shape.clone()),
            shape_tensor: output.is_shape_tensor,
            label_filename: output.label_filename.clone(),
        })
    }
}

fn full_dims(dims: &[i64], batched: bool) -> Vec<i64> {
    let batch = batched.then_some(VARIABLE);
    batch.into_iter().chain(dims.iter().copied()).collect()
}

/// `reshape` with its variable sizes taken from `shape`, a shape that fits `dims`. Both without the batch dimension.
#[must_use]
pub fn reshaped(dims: &[i64], shape: &[i64], reshape: &[i64]) -> Vec<i64> {
    let mut sizes = dims.iter().zip(shape).filter(|(dim, _)| **dim == VARIABLE).map(|(_, size)| *size);
    reshape.iter().map(|dim| if *dim == VARIABLE { sizes.next().unwrap_or(*dim) } else { *dim }).collect()
}

/// Finds positions by name. Of equal names the first counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NameIndex {
    /// Ascending by name.
    entries: Vec<(Box<str>, usize)>,
}

impl NameIndex {
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut entries: Vec<(Box<str>, usize)> =
            names.enumerate().map(|(index, name)| (name.into(), index)).collect();
        entries.sort();
        entries.dedup_by(|later, first| later.0 == first.0);
        Self { entries }
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let at = self.entries.binary_search_by(|(entry, _)| (**entry).cmp(name)).ok()?;
        self.entries.get(at).map(|(_, index)| *index)
    }
}
