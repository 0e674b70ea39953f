//! The rules of inputs and outputs, and of those that are made from a whole batch.

use super::Findings;
use crate::config::autofill::TENSORRT_PLATFORM;
use crate::config::tensor::VARIABLE;
use crate::config::{DataType, RawConfig};
use nereid_proto::inference::{
    BatchInput, BatchOutput, ModelTensorReshape, batch_input, batch_output, model_input::Format,
};
use std::collections::BTreeSet;

/// Dimensions of an input or output. With the batch's they are as many as a worker takes.
const DIMS_MAX: usize = 63;
/// Bytes of a tensor's name. A worker takes no more.
const NAME_MAX: usize = 1024;
/// Characters of a name that is too long which its error repeats.
const NAME_IN_ERROR: usize = 64;

/// What inputs and outputs have in common.
struct Tensor<'a> {
    /// "input" or "output".
    direction: &'static str,
    name: &'a str,
    data_type: i32,
    dims: &'a [i64],
    reshape: Option<&'a ModelTensorReshape>,
    is_shape_tensor: bool,
    is_non_linear: bool,
}

pub(super) fn check(raw: &RawConfig, findings: &mut Findings) {
    let already = findings.errors.len();
    for input in &raw.input {
        let tensor = Tensor {
            direction: "input",
            name: &input.name,
            data_type: input.data_type,
            dims: &input.dims,
            reshape: input.reshape.as_ref(),
            is_shape_tensor: input.is_shape_tensor,
            is_non_linear: input.is_non_linear_format_io,
        };
        check_shape(raw, &tensor, findings);
        let image = matches!(input.format(), Format::Nhwc | Format::Nchw);
        findings
            .invalid_if(image && input.dims.len() != 3, || "model input NHWC/NCHW require 3 dims".to_owned());
        check_special(raw, &tensor, findings);
    }
    for output in &raw.output {
        let tensor = Tensor {
            direction: "output",
            name: &output.name,
            data_type: output.data_type,
            dims: &output.dims,
            reshape: output.reshape.as_ref(),
            is_shape_tensor: output.is_shape_tensor,
            is_non_linear: output.is_non_linear_format_io,
        };
        check_shape(raw, &tensor, findings);
        check_special(raw, &tensor, findings);
    }
    check_batch_inputs(raw, findings);
    check_batch_outputs(raw, findings);
    for error in findings.errors.iter_mut().skip(already) {
        error.message = format!("{} for {}", error.message, raw.name);
    }
}

/// What no worker takes. Triton has no such limits.
fn check_size(tensor: &Tensor<'_>, findings: &mut Findings) {
    let Tensor { direction, name, dims, .. } = tensor;
    findings.invalid_if(name.len() > NAME_MAX, || {
        let start: String = name.chars().take(NAME_IN_ERROR).collect();
        let length = name.len();
        format!(
            "model {direction} '{start}...' has a name of {length} bytes, the limit is {NAME_MAX}; shorten it"
        )
    });
    for (what, dims) in
        [("dims", Some(*dims)), ("reshape dims", tensor.reshape.map(|to| to.shape.as_slice()))]
    {
        let count = dims.map_or(0, <[i64]>::len);
        findings.invalid_if(count > DIMS_MAX, || {
            format!(
                "model {direction} '{name}' has {count} {what}, the limit is {DIMS_MAX}; join some of them"
            )
        });
    }
}

fn check_shape(raw: &RawConfig, tensor: &Tensor<'_>, findings: &mut Findings) {
    check_size(tensor, findings);
    let Tensor { direction, name, dims, .. } = tensor;
    findings.invalid_if(name.is_empty(), || format!("model {direction} must specify 'name'"));
    let prefix = format!("model {direction} '{name}'");
    findings.invalid_if(DataType::from_number(tensor.data_type).is_none(), || {
        format!("{prefix} must specify 'data_type'")
    });
    findings.invalid_if(dims.is_empty(), || format!("{prefix} must specify 'dims'"));
    let reshape = tensor.reshape.map(|reshape| reshape.shape.as_slice());
    findings.invalid_if(reshape.is_some_and(<[i64]>::is_empty) && raw.max_batch_size == 0, || {
        format!(
            "{prefix} cannot have empty reshape for non-batching model as scalar tensors are not supported"
        )
    });
    findings.invalid_if(!dims.iter().all(is_dimension), || {
        format!("{prefix} dimension must be integer >= 1, or -1 to indicate a variable-size dimension")
    });
    let Some(reshape) = reshape else { return };
    findings.invalid_if(!reshape.iter().all(is_dimension), || {
        format!(
            "{prefix} reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension"
        )
    });
    if let Some(difference) = reshape_difference(dims, reshape) {
        findings.invalid(format!("{prefix} has different {difference} for dims and reshape"));
    }
}

const fn is_dimension(dim: &i64) -> bool {
    *dim >= 1 || *dim == VARIABLE
}

/// What makes a reshape impossible. The sizes between the variable dimensions must be equal, pair by pair.
fn reshape_difference(dims: &[i64], reshape: &[i64]) -> Option<&'static str> {
    let variable = dims.contains(&VARIABLE);
    if variable != reshape.contains(&VARIABLE) {
        return Some("size");
    }
    let (from, to) = (runs(dims), runs(reshape));
    if from.len() != to.len() {
        return Some("number of variable-size dimensions");
    }
    (from != to).then_some("size")
}

/// The product of every run of fixed dimensions; an empty run, and so an empty shape, has one element. Saturates.
fn runs(dims: &[i64]) -> Vec<i64> {
    dims.split(|dim| *dim == VARIABLE)
        .map(|run| run.iter().fold(1, |product: i64, dim| product.saturating_mul(*dim)))
        .collect()
}

fn check_special(raw: &RawConfig, tensor: &Tensor<'_>, findings: &mut Findings) {
    let tensorrt = raw.platform == TENSORRT_PLATFORM;
    findings.invalid_if(tensor.is_shape_tensor && !tensorrt, || {
        "shape tensors are only supported for TensorRT platform".to_owned()
    });
    findings.invalid_if(tensor.is_non_linear && !tensorrt, || {
        "Non-linear IO format is only supported for the TensorRT platform".to_owned()
    });
    findings.invalid_if(tensor.is_non_linear && tensor.dims.len() != 3, || {
        format!("Non-linear IO format {} requires 3 dims", tensor.direction)
    });
}

fn check_batch_inputs(raw: &RawConfig, findings: &mut Findings) {
    for batch_input in &raw.batch_input {
        let BatchInput { kind, data_type, source_input, .. } = batch_input;
        match batch_input::Kind::try_from(*kind) {
            Err(_) => findings.invalid(format!("unknown batch input kind '{kind}'")),
            Ok(kind) => findings.invalid_if(source_input.len() != 1, || {
                let kind = kind.as_str_name();
                format!("batch input kind '{kind}' expects 1 source input, got {}", source_input.len())
            }),
        }
        let allowed = [DataType::Int32, DataType::Fp32].map(DataType::config_number);
        findings.invalid_if(!allowed.contains(data_type), || {
            "batch input data type must be TYPE_INT32 or TYPE_FP32".to_owned()
        });
        check_sources(raw, source_input, findings);
    }
}

fn check_batch_outputs(raw: &RawConfig, findings: &mut Findings) {
    for batch_output in &raw.batch_output {
        let BatchOutput { kind, target_name, source_input } = batch_output;
        match batch_output::Kind::try_from(*kind) {
            Err(_) => findings.invalid(format!("unknown batch output kind '{kind}'")),
            Ok(kind) => findings.invalid_if(source_input.len() != 1, || {
                let kind = kind.as_str_name();
                format!("batch output kind '{kind}' expects 1 source input, got {}", source_input.len())
            }),
        }
        check_sources(raw, source_input, findings);
        let mut seen = BTreeSet::new();
        for target in target_name {
            let known = raw.output.iter().any(|output| output.name == *target);
            findings.invalid_if(!known, || format!("unknown target output name '{target}'"));
            findings.invalid_if(!seen.insert(target), || {
                format!("target output name '{target}' can only be specified once")
            });
        }
    }
}

fn check_sources(raw: &RawConfig, sources: &[String], findings: &mut Findings) {
    for source in sources {
        let known = raw.input.iter().any(|input| input.name == *source);
        findings.invalid_if(!known, || format!("unknown source input name '{source}'"));
    }
}
