//! Requests and what is said about them, one row for each text.

mod key;
mod texts;

use super::*;
use crate::config::tests::valid;

/// Two plain inputs, batched.
pub(super) fn batched() -> ModelConfig {
    valid(
        r#"name: "m" backend: "b" max_batch_size: 4
        input [ { name: "a" data_type: TYPE_INT32 dims: [ 2 ] }, { name: "b" data_type: TYPE_FP16 dims: [ -1, 3 ] } ]
        output { name: "y" data_type: TYPE_INT8 dims: 1 }"#,
    )
}

/// The same, not batched.
pub(super) fn unbatched() -> ModelConfig {
    valid(
        r#"name: "m" backend: "b"
        input [ { name: "a" data_type: TYPE_INT32 dims: [ 2 ] }, { name: "b" data_type: TYPE_FP16 dims: [ -1, 3 ] } ]
        output { name: "y" data_type: TYPE_INT8 dims: 1 }"#,
    )
}

pub(super) fn input<'a>(name: &'a str, datatype: DataType, shape: &'a [i64], byte_len: u64) -> InputView<'a> {
    InputView { name, datatype: Some(datatype), shape, byte_len, bytes: None }
}

pub(super) fn facts(config: &ModelConfig, inputs: &[InputView<'_>]) -> Result<RequestFacts, ServeError> {
    check(config, &RequestView { id: "7", inputs, outputs: &[] })
}

#[test]
fn a_request_that_fits_is_accepted_with_its_rows() {
    let inputs = [input("b", DataType::Fp16, &[3, 5, 3], 90), input("a", DataType::Int32, &[3, 2], 24)];
    let found = check(&batched(), &RequestView { id: "", inputs: &inputs, outputs: &["y"] }).unwrap();
    assert_eq!((found.batch_size, found.rows()), (3, 3));
    let inputs = [input("a", DataType::Int32, &[2], 8), input("b", DataType::Fp16, &[0, 3], 0)];
    let found = facts(&unbatched(), &inputs).unwrap();
    assert_eq!((found.batch_size, found.rows()), (0, 1));
}

#[test]
fn only_the_number_of_inputs_is_checked_where_some_are_optional() {
    let config = valid(
        r#"name: "m" backend: "b"
        input [ { name: "a" data_type: TYPE_INT8 dims: 1 }, { name: "b" data_type: TYPE_INT8 dims: 1 optional: true } ]"#,
    );
    assert!(facts(&config, &[input("a", DataType::Int8, &[1], 1)]).is_ok());
    assert!(facts(&config, &[input("b", DataType::Int8, &[1], 1)]).is_ok());
    assert!(facts(&config, &[]).is_err());
}

#[test]
fn duplicates_are_found_among_few_names_and_among_many() {
    let names: Vec<String> = (0..100).map(|index| format!("n{index}")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(duplicate(names.iter().copied()), None);
    assert_eq!(duplicate(names[..5].iter().copied()), None);
    names[4] = "n2";
    assert_eq!(duplicate(names.iter().copied()), Some("n2"));
    assert_eq!(duplicate(names[..5].iter().copied()), Some("n2"));
}

#[test]
fn layouts_that_only_the_worker_knows_may_have_any_length() {
    let config = valid(
        r#"name: "m" backend: "tensorrt" platform: "tensorrt_plan"
        input { name: "a" data_type: TYPE_FP16 dims: [ 1, 2, 3 ] is_non_linear_format_io: true }"#,
    );
    assert!(facts(&config, &[input("a", DataType::Fp16, &[1, 2, 3], 512)]).is_ok());
}

#[test]
fn a_shape_tensor_has_no_batch_dimension() {
    let config = valid(
        r#"name: "m" backend: "tensorrt" platform: "tensorrt_plan" max_batch_size: 4
        input [ { name: "a" data_type: TYPE_INT8 dims: 1 }, { name: "s" data_type: TYPE_INT32 dims: 2 is_shape_tensor: true } ]"#,
    );
    let a = input("a", DataType::Int8, &[3, 1], 3);
    assert_eq!(facts(&config, &[input("s", DataType::Int32, &[2], 8), a]).unwrap().batch_size, 3);
    let error = facts(&config, &[a, input("s", DataType::Int32, &[2], 12)]).unwrap_err();
    assert!(error.message.contains("Expected 8, got 12"), "{error}");
}

#[test]
fn raw_bytes_become_the_only_input() {
    let fixed = valid(
        r#"name: "m" backend: "b" max_batch_size: 2 input { name: "a" data_type: TYPE_FP32 dims: [ 2, 3 ] }"#,
    );
    let raw = deduce_raw_input(&fixed, "", 24).unwrap();
    assert_eq!(
        (raw.spec.name.as_str(), raw.shape.as_slice(), raw.is_string),
        ("a", [1, 2, 3].as_slice(), false)
    );
    let variable =
        valid(r#"name: "m" backend: "b" input { name: "a" data_type: TYPE_FP32 dims: [ 2, -1 ] }"#);
    assert_eq!(deduce_raw_input(&variable, "", 24).unwrap().shape, [2, 3]);
    let string = valid(r#"name: "m" backend: "b" input { name: "a" data_type: TYPE_STRING dims: 1 }"#);
    let raw = deduce_raw_input(&string, "", 24).unwrap();
    assert_eq!((raw.shape.as_slice(), raw.is_string), ([1].as_slice(), true));
}
