//! The exact texts.

use super::*;
use crate::error::ErrorKind;

fn refused(config: &ModelConfig, inputs: &[InputView<'_>], expected: &str) {
    let error = facts(config, inputs).unwrap_err();
    assert_eq!(error.message, expected);
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
}

const INT32: DataType = DataType::Int32;
const FP16: DataType = DataType::Fp16;

fn good_a() -> InputView<'static> {
    input("a", INT32, &[1, 2], 8)
}

fn good_b() -> InputView<'static> {
    input("b", FP16, &[1, 1, 3], 6)
}

#[test]
fn too_few_and_too_many_inputs() {
    let config = batched();
    let tail = "Please provide all required input(s).";
    refused(
        &config,
        &[],
        &format!(
            "[request id: 7] expected 2 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required \
             input(s) ['a','b']. {tail}"
        ),
    );
    refused(
        &config,
        &[good_b()],
        &format!(
            "[request id: 7] expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['b'], but missing \
             required input(s) ['a']. {tail}"
        ),
    );
    refused(
        &config,
        &[good_a(), good_b(), input("c", INT32, &[], 0)],
        &format!(
            "[request id: 7] expected 2 inputs but got 3 inputs for model 'm'. Got input(s) ['a','b','c'], but \
             missing required input(s) []. {tail}"
        ),
    );
    let optional = valid(
        r#"name: "m" backend: "b"
        input [ { name: "a" data_type: TYPE_INT8 dims: 1 }, { name: "b" data_type: TYPE_INT8 dims: 1 optional: true } ]"#,
    );
    refused(
        &optional,
        &[],
        &format!(
            "[request id: 7] expected number of inputs between 1 and 2 but got 0 inputs for model 'm'. Got input(s) \
             [], but missing required input(s) ['a']. {tail}"
        ),
    );
}

#[test]
fn names_that_are_unknown_or_given_twice() {
    let config = batched();
    refused(&config, &[good_a(), input("x", INT32, &[1], 4)], "unexpected inference input 'x' for model 'm'");
    let twice = "[request id: 7] input 'a' already exists in request";
    refused(&config, &[good_a(), good_a()], twice);
    let outputs = |outputs: &[&str]| {
        check(&config, &RequestView { id: "", inputs: &[good_a(), good_b()], outputs }).unwrap_err().message
    };
    assert_eq!(outputs(&["y", "x"]), "unexpected inference output 'x' for model 'm'");
    assert_eq!(outputs(&["y", "y"]), "[request id: <id_unknown>] output 'y' already exists in request");
}

#[test]
fn batch_sizes_that_are_missing_different_or_too_large() {
    let config = batched();
    refused(
        &config,
        &[input("a", INT32, &[], 8), good_b()],
        "[request id: 7] input 'a' has no shape but model requires batch dimension for 'm'",
    );
    refused(
        &config,
        &[good_a(), input("b", FP16, &[2, 1, 3], 12)],
        "[request id: 7] input 'b' batch size does not match other inputs for 'm'",
    );
    let large = "[request id: 7] inference request batch-size must be <= 4 for 'm'";
    refused(&config, &[input("a", INT32, &[5, 2], 40), input("b", FP16, &[5, 1, 3], 30)], large);
    refused(
        &config,
        &[input("a", INT32, &[i64::MAX, 2], 40), input("b", FP16, &[i64::MAX, 1, 3], 30)],
        large,
    );
    refused(
        &config,
        &[input("a", INT32, &[0, 2], 0), input("b", FP16, &[0, 1, 3], 0)],
        "[request id: 7] input byte size mismatch for input 'a' for model 'm'. Expected 8, got 0",
    );
}

#[test]
fn types_that_differ() {
    refused(
        &batched(),
        &[input("a", DataType::Fp32, &[1, 2], 8), good_b()],
        "[request id: 7] inference input 'a' data-type is 'FP32', but model 'm' expects 'INT32'",
    );
    refused(
        &batched(),
        &[InputView { datatype: None, ..good_a() }, good_b()],
        "[request id: 7] inference input 'a' data-type is '<invalid>', but model 'm' expects 'INT32'",
    );
}

#[test]
fn shapes_that_differ() {
    let note = "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be \
                prepended to each input shape. If you want to specify the full shape including the batch dim in your \
                input dims config, try setting max_batch_size to zero. See the model configuration docs for more info \
                on max_batch_size.";
    refused(
        &batched(),
        &[input("a", INT32, &[1, 15], 60), good_b()],
        &format!(
            "[request id: 7] unexpected shape for input 'a' for model 'm'. Expected [-1,2], got [1,15]. {note}"
        ),
    );
    refused(
        &batched(),
        &[good_a(), input("b", FP16, &[1, 3], 6)],
        &format!(
            "[request id: 7] unexpected shape for input 'b' for model 'm'. Expected [-1,-1,3], got [1,3]. {note}"
        ),
    );
    refused(
        &unbatched(),
        &[input("a", INT32, &[3], 12), input("b", FP16, &[1, 3], 6)],
        "[request id: 7] unexpected shape for input 'a' for model 'm'. Expected [2], got [3]. ",
    );
}

#[test]
fn dimensions_that_are_open_negative_or_beyond_counting() {
    let open = "[request id: 7] All input dimensions should be specified for input 'b' for model 'm', got ";
    refused(&batched(), &[good_a(), input("b", FP16, &[1, -1, 3], 6)], &format!("{open}[1,-1,3]"));
    refused(&batched(), &[good_a(), input("b", FP16, &[-1, 1, 3], 6)], &format!("{open}[-1,1,3]"));
    let a = input("a", INT32, &[2], 8);
    refused(
        &unbatched(),
        &[a, input("b", FP16, &[-2, 3], 6)],
        "[request id: 7] tensor 'b' contains an invalid dimension in shape [-2,3]",
    );
    refused(
        &unbatched(),
        &[a, input("b", FP16, &[i64::MAX, 3], 6)],
        "[request id: 7] byte size for tensor 'b' exceeds maximum size of 9223372036854775807",
    );
    let strings =
        valid(r#"name: "m" backend: "b" input { name: "s" data_type: TYPE_STRING dims: [ -1, -1 ] }"#);
    refused(
        &strings,
        &[input("s", DataType::Bytes, &[i64::MAX, 3], 6)],
        "[request id: 7] element count for tensor 's' exceeds maximum size of 9223372036854775807",
    );
}

#[test]
fn bytes_that_are_too_few_or_too_many() {
    refused(
        &batched(),
        &[InputView { byte_len: 40, ..good_a() }, good_b()],
        "[request id: 7] input byte size mismatch for input 'a' for model 'm'. Expected 8, got 40",
    );
}

#[test]
fn strings_that_are_broken_too_few_or_too_many() {
    let config = valid(r#"name: "m" backend: "b" input { name: "s" data_type: TYPE_STRING dims: [ -1 ] }"#);
    let strings = |shape, bytes| InputView { bytes: Some(bytes), ..input("s", DataType::Bytes, shape, 0) };
    let one = [1, 0, 0, 0, b'x'];
    assert!(facts(&config, &[strings(&[1], &one)]).is_ok());
    // Bytes that lie elsewhere are not looked at.
    assert!(facts(&config, &[input("s", DataType::Bytes, &[9], 0)]).is_ok());
    let tail = "for inference input 's' for model 'm',";
    refused(
        &config,
        &[strings(&[1], &one[..3])],
        &format!(
            "[request id: 7] incomplete string length indicator {tail} expecting 4 bytes but only 3 bytes available. \
             Please make sure the string length indicator is in one buffer."
        ),
    );
    let two = [one, one].concat();
    refused(
        &config,
        &[strings(&[1], &two)],
        &format!("[request id: 7] unexpected number of string elements 2 {tail} expecting 1"),
    );
    refused(
        &config,
        &[strings(&[4], &two)],
        &format!("[request id: 7] expected 4 string elements {tail} got 2"),
    );
}

#[test]
fn sequence_ids_of_the_wrong_type() {
    let sequence = |data_type: &str| {
        valid(&format!(
            "name: 'm' backend: 'b' sequence_batching {{
               control_input {{ name: 'START' control {{ int32_false_true: [ 0, 1 ] }} }}
               control_input {{ name: 'ID' control {{ kind: CONTROL_SEQUENCE_CORRID data_type: {data_type} }} }} }}"
        ))
    };
    let (number, text) = (Correlation::Number(1), Correlation::Text("one"));
    let told =
        |config: &ModelConfig, correlation| check_correlation(config, "", correlation).map_err(|e| e.message);
    let prefix = "[request id: <id_unknown>] sequence batching control 'ID' data-type is";
    assert_eq!(told(&sequence("TYPE_INT64"), number), Ok(()));
    assert_eq!(told(&sequence("TYPE_STRING"), text), Ok(()));
    assert_eq!(
        told(&sequence("TYPE_UINT64"), text),
        Err(format!("{prefix} 'BYTES', but model 'm' expects 'UINT64'"))
    );
    assert_eq!(
        told(&sequence("TYPE_STRING"), number),
        Err(format!("{prefix} 'UINT64', but model 'm' expects 'BYTES'"))
    );
    assert_eq!(told(&valid("name: 'm' backend: 'b' sequence_batching {}"), text), Ok(()));
    assert_eq!(told(&batched(), text), Ok(()));
}

#[test]
fn raw_bytes_that_can_not_be_deduced() {
    let told = |config: &ModelConfig| deduce_raw_input(config, "7", 4).unwrap_err().message;
    assert_eq!(
        told(&batched()),
        "[request id: 7] Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'm' model \
         configuration"
    );
    let one = |dims: &str| valid(&format!("name: 'm' backend: 'b' input {{ name: 'a' {dims} }}"));
    assert_eq!(
        told(&one("data_type: TYPE_INT8 dims: [ -1, -1 ]")),
        "[request id: 7] The shape of the raw input 'a' can not be deduced because there are more than one \
         variable-sized dimension"
    );
    for dims in ["2", "-1"] {
        assert_eq!(
            told(&one(&format!("data_type: TYPE_STRING dims: {dims}"))),
            "[request id: 7] For BYTE datatype raw input 'a', the model must have input shape [1]"
        );
    }
}
