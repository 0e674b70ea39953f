//! Reading the model's configuration: parameters that are numbers, and the rules that Triton's test backends have for
//! inputs and outputs. The texts of their errors are what people search for, so they are the same.

use nereid_worker::{
    ModelContext, Pause, WorkerError,
    proto::inference::{DataType, ModelInput, ModelOutput},
};
use std::time::Duration;

/// A whole number from the model's parameters; none when it is absent.
pub(crate) fn number(model: &ModelContext, name: &str) -> Result<Option<u64>, WorkerError> {
    let Some(text) = model.parameter(name) else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| {
        WorkerError::invalid_argument(format!("parameter '{name}' is '{text}'; it must be a whole number"))
    })
}

/// Waits as long as `creation_delay_sec` says.
pub(crate) fn creation_delay(model: &ModelContext) -> Result<(), WorkerError> {
    let Some(seconds) = number(model, "creation_delay_sec")? else { return Ok(()) };
    match model.pause(Duration::from_secs(seconds)) {
        Pause::Elapsed => Ok(()),
        Pause::Cancelled | Pause::SupervisorGone => Err(WorkerError::cancelled("the load was interrupted")),
    }
}

/// An input or an output, as the configuration has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a str,
    pub(crate) datatype: DataType,
    pub(crate) dims: &'a [i64],
    /// What the model sees instead of `dims`.
    pub(crate) reshape: Option<&'a [i64]>,
}

impl Tensor<'_> {
    /// The shape that the model sees.
    pub(crate) fn shape(&self) -> &[i64] {
        self.reshape.unwrap_or(self.dims)
    }
}

impl<'a> From<&'a ModelInput> for Tensor<'a> {
    fn from(input: &'a ModelInput) -> Self {
        let reshape = input.reshape.as_ref().map(|reshape| reshape.shape.as_slice());
        Self { name: &input.name, datatype: input.data_type(), dims: &input.dims, reshape }
    }
}

impl<'a> From<&'a ModelOutput> for Tensor<'a> {
    fn from(output: &'a ModelOutput) -> Self {
        let reshape = output.reshape.as_ref().map(|reshape| reshape.shape.as_slice());
        Self { name: &output.name, datatype: output.data_type(), dims: &output.dims, reshape }
    }
}

/// What a backend with fixed tensors expects of one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) name: &'static str,
    /// "first input", "second output" and so on.
    pub(crate) place: &'static str,
    pub(crate) datatype: DataType,
}

impl Expected {
    pub(crate) fn check_name(&self, tensor: Tensor<'_>) -> Result<(), WorkerError> {
        check(tensor.name == self.name, || {
            format!("expected {} tensor name to be {}, got {}", self.place, self.name, tensor.name)
        })
    }

    pub(crate) fn check_datatype(&self, tensor: Tensor<'_>) -> Result<(), WorkerError> {
        check(tensor.datatype == self.datatype, || {
            let wanted = self.datatype.as_str_name().trim_start_matches("TYPE_");
            format!("expected {} datatype to be {wanted}, got {}", self.name, tensor.datatype.as_str_name())
        })
    }

    /// One element, and nothing else.
    pub(crate) fn check_single(&self, tensor: Tensor<'_>) -> Result<(), WorkerError> {
        check(tensor.dims == [1], || {
            format!("expected {} shape to be [1], got {}", self.name, shape_text(tensor.dims))
        })
    }
}

/// As many inputs and outputs as the backend expects.
pub(crate) fn check_counts(
    (inputs, outputs): (usize, usize),
    (expected_inputs, expected_outputs): (usize, usize),
) -> Result<(), WorkerError> {
    let text = |count: usize, what: &str, got| {
        let plural = if count == 1 { "" } else { "s" };
        format!("expected {count} {what}{plural}, got {got}")
    };
    check(inputs == expected_inputs, || text(expected_inputs, "input", inputs))?;
    check(outputs == expected_outputs, || text(expected_outputs, "output", outputs))
}

pub(crate) fn check(holds: bool, text: impl FnOnce() -> String) -> Result<(), WorkerError> {
    if holds { Ok(()) } else { Err(WorkerError::invalid_argument(text())) }
}

/// A shape as Triton prints it.
pub(crate) fn shape_text(shape: &[i64]) -> String {
    let dims: Vec<_> = shape.iter().map(i64::to_string).collect();
    format!("[{}]", dims.join(","))
}
