use super::*;
use bytes::Bytes;
use nereid_core::error::ErrorKind;
use nereid_proto::inference::{InferTensorContents, ModelInferRequest};

use crate::serve::request::OutputTensor;

fn parameter(choice: ParameterChoice) -> InferParameter {
    InferParameter { parameter_choice: Some(choice) }
}

fn parameters(entries: &[(&str, ParameterChoice)]) -> Parameters {
    entries.iter().map(|(name, choice)| ((*name).to_owned(), parameter(choice.clone()))).collect()
}

fn input(name: &str) -> InferInputTensor {
    InferInputTensor {
        name: name.into(),
        datatype: "UINT8".into(),
        shape: vec![2],
        ..InferInputTensor::default()
    }
}

fn message() -> ModelInferRequest {
    ModelInferRequest {
        model_name: "m".into(),
        id: "7".into(),
        inputs: vec![input("A")],
        raw_input_contents: vec![Bytes::from_static(b"aa")],
        ..ModelInferRequest::default()
    }
}

fn failure(message: ModelInferRequest) -> String {
    request(message.into(), None).unwrap_err().message
}

fn with_parameter(name: &str, choice: ParameterChoice) -> ModelInferRequest {
    ModelInferRequest { parameters: parameters(&[(name, choice)]), ..message() }
}

use ParameterChoice::{BoolParam, DoubleParam, Int64Param, StringParam, Uint64Param};

#[test]
fn raw_contents_are_handed_over_in_the_order_of_the_inputs() {
    let raw = [Bytes::from_static(b"aa"), Bytes::from_static(b"bb"), Bytes::from_static(b"extra")];
    let message = ModelInferRequest {
        inputs: vec![input("A"), input("B")],
        raw_input_contents: raw.to_vec(),
        ..message()
    };
    let request = request(message.into(), Some(3)).unwrap();
    assert_eq!((request.model.as_str(), request.version, request.id.as_str()), ("m", Some(3), "7"));
    assert_eq!(request.inputs[1].name, "B");
    assert_eq!(request.inputs[1].datatype, DataType::TypeUint8);
    assert_eq!(request.inputs[1].data.as_slice().unwrap().as_ptr(), raw[1].as_ptr());
}

#[test]
fn typed_contents_are_the_other_way() {
    let contents = InferTensorContents { uint_contents: vec![1, 2], ..InferTensorContents::default() };
    let typed = InferInputTensor { contents: Some(contents), ..input("A") };
    let both = ModelInferRequest { inputs: vec![typed.clone()], ..message() };
    assert_eq!(
        failure(both.clone()),
        "contents field must not be specified when using raw_input_contents for 'A' for model 'm'"
    );
    let only = ModelInferRequest { raw_input_contents: Vec::new(), ..both };
    assert_eq!(request(only.into(), None).unwrap().inputs[0].data.as_slice(), Some(&[1, 2][..]));
}

#[test]
fn an_input_without_data_is_named() {
    let message = ModelInferRequest { inputs: vec![input("A"), input("B")], ..message() };
    assert_eq!(failure(message), "unable to find data for input tensor 'B' for model 'm' in request.");
}

#[test]
fn parameters_with_a_meaning_are_understood_and_others_are_the_models() {
    let message = ModelInferRequest {
        parameters: parameters(&[
            ("sequence_id", Int64Param(-1)),
            ("sequence_start", BoolParam(true)),
            ("priority", Uint64Param(u64::MAX)),
            ("timeout", Int64Param(5)),
            ("binary_data_output", BoolParam(true)),
            ("ratio", DoubleParam(0.5)),
            (EMPTY_FINAL_RESPONSE, BoolParam(true)),
        ]),
        ..message()
    };
    let request = request(message.into(), None).unwrap();
    assert_eq!(request.correlation, Correlation::Number(u64::MAX));
    assert!(request.sequence_start && !request.sequence_end);
    assert_eq!((request.priority, request.timeout_us), (u64::MAX, 5));
    assert_eq!(
        request.parameters,
        [
            ("binary_data_output".to_owned(), ParameterValue::Bool(true)),
            ("ratio".to_owned(), ParameterValue::Double(0.5))
        ]
    );
}

#[test]
fn a_parameter_of_the_wrong_type_is_told_in_the_words_that_clients_know() {
    let text = || StringParam("x".into());
    for (name, choice, message) in [
        (
            "sequence_id",
            Uint64Param(1),
            "invalid value type for 'sequence_id' parameter, expected int64_param or string_param.",
        ),
        ("sequence_start", text(), "invalid value type for 'sequence_start' parameter, expected bool_param."),
        ("sequence_end", text(), "invalid value type for 'sequence_end' parameter, expected bool_param."),
        ("priority", Int64Param(-1), "invalid value for 'priority', expected value >= 0."),
        (
            "priority",
            text(),
            "invalid value type for 'priority' parameter, expected int64_param or uint64_param.",
        ),
        ("timeout", Uint64Param(1), "invalid value type for 'timeout' parameter, expected int64_param."),
        (
            "triton_other",
            text(),
            "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting \
             with 'triton_' are allowed: triton_enable_empty_final_response",
        ),
        (
            EMPTY_FINAL_RESPONSE,
            text(),
            "invalid value type for 'triton_enable_empty_final_response' parameter, expected bool_param.",
        ),
        (
            "custom",
            Uint64Param(1),
            "invalid value type for 'custom' parameter, expected int64_param, bool_param, or string_param.",
        ),
    ] {
        assert_eq!(failure(with_parameter(name, choice)), message);
    }
}

#[test]
fn regions_are_checked_although_none_is_known_yet() {
    let region = ("shared_memory_region", StringParam("r".into()));
    let size = ("shared_memory_byte_size", Int64Param(2));
    for (entries, message) in [
        (vec![region.clone(), size.clone()], "Unable to find shared memory region: 'r'"),
        (
            vec![region],
            "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'A'",
        ),
        (
            vec![size],
            "'shared_memory_byte_size' can not be specified without 'shared_memory_region' parameter for tensor 'A'",
        ),
        (
            vec![("shared_memory_offset", Int64Param(2))],
            "'shared_memory_offset' can not be specified without 'shared_memory_region' parameter for tensor 'A'",
        ),
        (
            vec![("shared_memory_region", BoolParam(true))],
            "invalid value type for 'shared_memory_region' parameter for tensor 'A', expected string_param.",
        ),
    ] {
        let tensor = InferInputTensor { parameters: parameters(&entries), ..input("A") };
        assert_eq!(failure(ModelInferRequest { inputs: vec![tensor], ..message_of(&entries) }), message);
    }
}

/// A message without raw contents: regions take none.
fn message_of(_: &[(&str, ParameterChoice)]) -> ModelInferRequest {
    ModelInferRequest { raw_input_contents: Vec::new(), ..message() }
}

#[test]
fn classes_are_checked_although_they_are_not_served_yet() {
    let output = |choice| ModelInferRequest {
        outputs: vec![InferRequestedOutputTensor {
            name: "O".into(),
            parameters: parameters(&[("classification", choice)]),
        }],
        ..message()
    };
    assert_eq!(failure(output(Int64Param(0))), "invalid value for 'classification' parameter, expected >= 0");
    assert_eq!(
        failure(output(BoolParam(true))),
        "invalid value type for 'classification' parameter, expected int64_param"
    );
    assert_eq!(request(output(Int64Param(1)).into(), None).unwrap_err().kind, ErrorKind::Unsupported);
}

#[test]
fn a_response_hands_its_tensors_over() {
    let data = Bytes::from_static(b"abcd");
    let message = response(InferResponse {
        model: "m".into(),
        version: 2,
        id: "7".into(),
        parameters: vec![("p".into(), ParameterValue::Int64(1))],
        outputs: vec![
            OutputTensor {
                name: "O".into(),
                datatype: DataType::TypeUint8,
                shape: vec![4],
                data: data.clone(),
            },
            OutputTensor {
                name: "E".into(),
                datatype: DataType::TypeString,
                shape: vec![0],
                data: Bytes::new(),
            },
        ],
    })
    .unwrap();
    assert_eq!((message.model_name.as_str(), message.model_version.as_str()), ("m", "2"));
    assert_eq!(message.outputs[1].datatype, "BYTES");
    assert_eq!(message.raw_output_contents[0].as_ptr(), data.as_ptr());
    assert_eq!(message.raw_output_contents.len(), 2);
    assert_eq!(message.parameters["p"], parameter(Int64Param(1)));
}

#[test]
fn only_what_has_to_be_looked_at_is_work() {
    let texts = InferTensorContents {
        bytes_contents: vec![Bytes::from(vec![b'x'; 1000])],
        ..InferTensorContents::default()
    };
    let typed = InferInputTensor { contents: Some(texts), ..input("A") };
    let size =
        |inputs: Vec<InferInputTensor>| work_size(&ModelInferRequest { inputs, ..message() }.into(), 5000);
    assert_eq!(size(vec![input("A")]), 0);
    assert!((1000..1100).contains(&size(vec![typed.clone()])));
    assert!((5000..7000).contains(&size(vec![typed; 100])));
    let pieces = || [Bytes::from_static(b"ab"), Bytes::from_static(b"cd")].into_iter().collect();
    let text = InferInputTensor { datatype: "BYTES".into(), ..input("S") };
    let message = ModelInferRequest { inputs: vec![input("A"), text], ..message() };
    let sent = message::Request { message, raw: vec![pieces(), pieces()] };
    assert_eq!(work_size(&sent, 5000), 4);
}
