//! Configurations against committed models; the texts are those that operators grep for.

use super::check;
use crate::testing::{config, session};

fn refused(model: &str, text: &str) -> String {
    let mut config = config(text);
    config.name = "model".to_owned();
    check(&config, &session(model)).unwrap_err().message
}

fn accepted(model: &str, text: &str) {
    let mut config = config(text);
    config.name = "model".to_owned();
    check(&config, &session(model)).unwrap_or_else(|error| panic!("{error}"));
}

const INPUTS: &str = "
    input { name: 'INPUT0' data_type: TYPE_FP32 dims: 16 }
    input { name: 'INPUT1' data_type: TYPE_FP32 dims: 16 }";
const OUTPUTS: &str = "output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 16 }";

#[test]
fn a_configuration_may_name_some_of_the_outputs() {
    accepted("add_sub", &format!("max_batch_size: 8 {INPUTS} {OUTPUTS}"));
}

#[test]
fn without_batching_the_first_dimension_is_one_like_others() {
    accepted(
        "add_sub",
        "input { name: 'INPUT0' data_type: TYPE_FP32 dims: [ 3, 16 ] }
        input { name: 'INPUT1' data_type: TYPE_FP32 dims: [ -1, 16 ] }
        output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: [ -1, 16 ] }",
    );
}

#[test]
fn too_many_and_too_few_inputs_are_counted() {
    let one = "max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 16 }";
    assert_eq!(
        refused("add_sub", &format!("{one} {OUTPUTS}")),
        "unable to load model 'model', configuration expects 1 inputs, model provides 2"
    );
    let three = format!("{INPUTS} input {{ name: 'INPUT2' data_type: TYPE_FP32 dims: 16 }}");
    assert_eq!(
        refused("add_sub", &format!("max_batch_size: 8 {three} {OUTPUTS}")),
        "unable to load model 'model', configuration expects 3 inputs, model provides 2"
    );
}

#[test]
fn unknown_names_are_refused_with_those_that_there_are() {
    let inputs = INPUTS.replace("INPUT1", "INPUT_UNKNOWN");
    assert_eq!(
        refused("add_sub", &format!("max_batch_size: 8 {inputs} {OUTPUTS}")),
        "unexpected inference input 'INPUT_UNKNOWN', allowed inputs are: INPUT0, INPUT1"
    );
    let outputs = OUTPUTS.replace("OUTPUT0", "OUTPUT_UNKNOWN");
    assert_eq!(
        refused("add_sub", &format!("max_batch_size: 8 {INPUTS} {outputs}")),
        "unexpected inference output 'OUTPUT_UNKNOWN', allowed outputs are: OUTPUT0, OUTPUT1"
    );
}

#[test]
fn other_types_are_refused() {
    let inputs = INPUTS.replacen("TYPE_FP32", "TYPE_INT32", 1);
    assert_eq!(
        refused("add_sub", &format!("max_batch_size: 8 {inputs} {OUTPUTS}")),
        "unable to load model 'model', configuration expects datatype TYPE_INT32 for input 'INPUT0', model provides \
         TYPE_FP32"
    );
    let outputs = OUTPUTS.replace("TYPE_FP32", "TYPE_STRING");
    assert_eq!(
        refused("add_sub", &format!("max_batch_size: 8 {INPUTS} {outputs}")),
        "unable to load model 'model', configuration expects datatype TYPE_STRING for output 'OUTPUT0', model \
         provides TYPE_FP32"
    );
    let text = "input { name: 'INPUT' data_type: TYPE_FP32 dims: [ -1, -1 ] }";
    assert_eq!(
        refused("identity_string", text),
        "unable to load model 'model', configuration expects datatype TYPE_FP32 for input 'INPUT', model provides \
         TYPE_BYTES"
    );
}

#[test]
fn other_sizes_are_refused_with_both_shapes() {
    let inputs = INPUTS.replacen("dims: 16", "dims: [ 16, 1 ]", 1);
    assert_eq!(
        refused("add_sub", &format!("max_batch_size: 8 {inputs} {OUTPUTS}")),
        "model 'model', tensor 'INPUT0': the model expects 2 dimensions (shape [-1,16]) but the model configuration \
         specifies 3 dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit \
         tensor shape, making complete shape [-1,16,1])"
    );
    let text = "
        input { name: 'INPUT0' data_type: TYPE_INT32 dims: 5 }
        input { name: 'INPUT1' data_type: TYPE_INT32 dims: 4 }";
    assert_eq!(
        refused("add_sub_whole", text),
        "model 'model', tensor 'INPUT0': the model expects 1 dimensions (shape [4]) but the model configuration \
         specifies 1 dimensions (shape [5])"
    );
}

#[test]
fn a_size_that_the_model_leaves_open_is_open_in_outputs_too() {
    let text = |input: &str, output: &str| {
        format!(
            "max_batch_size: 8
            input {{ name: 'INPUT' data_type: TYPE_FP32 dims: {input} }}
            output {{ name: 'OUTPUT' data_type: TYPE_FP32 dims: {output} }}"
        )
    };
    accepted("identity_fp32", &text("4", "-1"));
    assert!(
        refused("identity_fp32", &text("4", "4"))
            .starts_with("model 'model', tensor 'OUTPUT': the model expects")
    );
}

#[test]
fn a_model_without_a_batch_dimension_cannot_be_batched() {
    let text = "
        max_batch_size: 8
        input { name: 'INPUT0' data_type: TYPE_INT32 dims: 4 }
        input { name: 'INPUT1' data_type: TYPE_INT32 dims: 4 }";
    assert_eq!(
        refused("add_sub_whole", text),
        "model 'model', tensor 'INPUT0': for the model to support batching the shape should have at least 1 dimension \
         and the first dimension must be -1; but shape expected by the model is [4]"
    );
}

#[test]
fn scalars_are_written_as_ones() {
    let text = |dims: &str| {
        format!(
            "input {{ name: 'INPUT' data_type: TYPE_FP32 dims: 3 }}
            input {{ name: 'FACTOR' data_type: TYPE_FP32 dims: {dims} }}
            output {{ name: 'TOTAL' data_type: TYPE_FP32 dims: 1 }}"
        )
    };
    accepted("total", &text("[ 1, 1 ]"));
    assert_eq!(
        refused("total", &text("[ 1, 2 ]")),
        "unable to load model 'model', scalar tensor 'FACTOR', should only provide 1 in the model configuration when \
         the model doesn't support batching. Model configuration provided: [1,2]."
    );
}

#[test]
fn optional_inputs_are_for_models_without_batching() {
    let text = "
        input { name: 'INPUT' data_type: TYPE_FP32 dims: 2 }
        input { name: 'FACTOR' data_type: TYPE_FP32 dims: 1 optional: true }";
    accepted("scale", text);
    let text = "
        max_batch_size: 8
        input { name: 'INPUT' data_type: TYPE_FP32 dims: -1 }
        input { name: 'FACTOR' data_type: TYPE_FP32 dims: 1 optional: true }";
    assert_eq!(
        refused("identity_fp32", text),
        "unable to load model 'model', optional input 'FACTOR' is not supported for models that support batching"
    );
}

#[test]
fn ragged_inputs_need_one_open_dimension() {
    let text = |name: &str| {
        format!(
            "max_batch_size: 8 input {{ name: '{name}' data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }}"
        )
    };
    let made = "batch_input { kind: BATCH_ELEMENT_COUNT target_name: 'ENDS' data_type: TYPE_FP32 source_input: 'RAGGED' }";
    accepted("ragged", &format!("{} {made}", text("RAGGED")));
    assert_eq!(
        refused("identity_fp32", &text("INPUT")),
        "unable to load model 'model', configuration expects model provides input with shape [-1]  for ragged input \
         'INPUT', model provides [-1,-1]"
    );
}

#[test]
fn a_sequence_cannot_be_an_output() {
    let text = "
        input { name: 'INPUT' data_type: TYPE_FP32 dims: 2 }
        output { name: 'OUTPUT' data_type: TYPE_FP32 dims: 2 }";
    assert_eq!(
        refused("sequence", text),
        "Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 'OUTPUT', expected 'ONNX_TYPE_TENSOR'."
    );
}

fn sequence(control: &str, state: &str) -> String {
    format!(
        "sequence_batching {{
            control_input {{ name: '{control}' control {{ kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] }} }}
            {state}
        }}
        input {{ name: 'INPUT' data_type: TYPE_FP32 dims: 3 }}
        output {{ name: 'TOTAL' data_type: TYPE_FP32 dims: 1 }}"
    )
}

#[test]
fn sequence_controls_have_to_be_inputs_of_one_element() {
    assert_eq!(
        refused("total", &sequence("START", "")),
        "configuration specified sequence control 'START', but model does not provide that input"
    );
    assert_eq!(
        refused("total", &sequence("FACTOR", "")),
        "unable to load model 'model', sequence control 'FACTOR' in model has dims [] but dims [1] is expected"
    );
}

#[test]
fn states_have_to_be_outputs_of_that_type() {
    let control = "
        sequence_batching {
            state { input_name: 'INPUT1' output_name: 'NAME' data_type: TYPE dims: 4 }
        }
        input { name: 'INPUT0' data_type: TYPE_INT32 dims: 4 }";
    let state =
        |name: &str, kind: &str| control.replace("NAME", name).replace("TYPE dims", &format!("{kind} dims"));
    accepted("add_sub_whole", &state("OUTPUT1", "TYPE_INT32"));
    assert_eq!(
        refused("add_sub_whole", &state("STATE", "TYPE_INT32")),
        "unexpected inference output 'STATE', allowed outputs are: OUTPUT0, OUTPUT1"
    );
    assert_eq!(
        refused("add_sub_whole", &state("OUTPUT1", "TYPE_FP32")),
        "unable to load model 'model', configuration expects datatype TYPE_FP32 for output state 'OUTPUT1', model \
         provides TYPE_INT32"
    );
}
