use super::*;
use bytes::Bytes;
use nereid_core::error::ErrorKind;
use nereid_proto::inference::DataType;
use proptest::prelude::*;

const LIMIT: u64 = 1 << 20;

fn decoded(json: &str, binary: &[u8]) -> Result<Decoded, ServeError> {
    let body = Rope::from(Bytes::from([json.as_bytes(), binary].concat()));
    decode("m", body, json.len(), LIMIT)
}

fn bytes_of(input: &InputTensor) -> &[u8] {
    input.data.as_slice().unwrap()
}

fn request(json: &str) -> InferRequest {
    decoded(json, b"").unwrap().request
}

fn failure(json: &str) -> (ErrorKind, String) {
    let error = decoded(json, b"").unwrap_err();
    (error.kind, error.message)
}

/// A request with one input of these members.
fn with_input(members: &str) -> String {
    format!("{{\"inputs\":[{{{members}}}]}}")
}

#[test]
fn a_json_request_is_decoded() {
    let request = request(
        r#"{"id":"42","inputs":[{"name":"IN","shape":[1,2],"datatype":"FP32","data":[[1.5,-2]]}],
            "outputs":[{"name":"OUT"}]}"#,
    );
    assert_eq!((request.model.as_str(), request.id.as_str()), ("m", "42"));
    assert_eq!(request.outputs, ["OUT"]);
    let input = &request.inputs[0];
    assert_eq!((input.name.as_str(), input.datatype), ("IN", DataType::TypeFp32));
    assert_eq!(input.shape, [1, 2]);
    assert_eq!(bytes_of(input), [0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0]);
}

#[test]
fn members_of_an_input_may_come_in_any_order() {
    let request = request(&with_input(r#""data":[7],"datatype":"INT8","shape":[1],"name":"IN""#));
    assert_eq!(bytes_of(&request.inputs[0]), [7]);
}

#[test]
fn binary_tensors_are_slices_of_the_body() {
    let json = r#"{"inputs":[
        {"name":"A","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}},
        {"name":"J","shape":[1],"datatype":"UINT8","data":[9]},
        {"name":"Z","shape":[0],"datatype":"UINT8","parameters":{"binary_data_size":0}},
        {"name":"B","shape":[3],"datatype":"UINT8","parameters":{"binary_data_size":3}}]}"#;
    let whole = Bytes::from([json.as_bytes(), b"aabbb"].concat());
    let inputs = decode("m", Rope::from(whole.clone()), json.len(), LIMIT).unwrap().request.inputs;
    let data: Vec<&[u8]> = inputs.iter().map(bytes_of).collect();
    assert_eq!(data, [&b"aa"[..], &[9], b"", b"bbb"]);
    assert_eq!(bytes_of(&inputs[0]).as_ptr(), whole[json.len()..].as_ptr());
}

#[test]
fn a_binary_part_of_the_wrong_length_is_refused() {
    let json = with_input(r#""name":"A","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}"#);
    assert_eq!(
        decoded(&json, b"a").unwrap_err().message,
        "unexpected size for input 'A', expecting 1 additional bytes for model 'm'"
    );
    assert_eq!(decoded(&json, b"aaa").unwrap_err().message, "unexpected additional input data for model 'm'");
}

#[test]
fn a_body_that_ends_within_its_json_is_refused() {
    let body = Rope::from(Bytes::from_static(b"{}"));
    assert_eq!(
        decode("m", body, 5, LIMIT).unwrap_err().message,
        "unexpected size for request JSON, expecting 3 more bytes"
    );
}

#[test]
fn parameters_with_a_meaning_are_understood_and_others_are_the_models() {
    let decoded = decoded(
        r#"{"inputs":[],"parameters":{"sequence_id":7,"sequence_start":true,"sequence_end":false,"priority":2,
            "timeout":1000,"binary_data_output":true,"text":"x","count":-3,"flag":false,"ratio":0.5,
            "huge":18446744073709551615,"headers":"h"}}"#,
        b"",
    )
    .unwrap();
    let request = decoded.request;
    assert_eq!(request.correlation, Correlation::Number(7));
    assert!(request.sequence_start && !request.sequence_end);
    assert_eq!((request.priority, request.timeout_us), (2, 1000));
    assert!(decoded.outputs.is_binary("anything"));
    let expected = [
        ("text", ParameterValue::String("x".into())),
        ("count", ParameterValue::Int64(-3)),
        ("flag", ParameterValue::Bool(false)),
        ("ratio", ParameterValue::Double(0.5)),
        ("huge", ParameterValue::Double(18_446_744_073_709_551_615.0)),
        ("headers", ParameterValue::String("h".into())),
    ];
    let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value)).into();
    assert_eq!(request.parameters, expected);
}

#[test]
fn a_sequence_is_named_by_a_number_or_a_text() {
    let id = |text: &str| {
        request(&format!("{{\"inputs\":[],\"parameters\":{{\"sequence_id\":{text}}}}}")).correlation
    };
    assert_eq!(id("\"s1\""), Correlation::Text("s1".into()));
    assert_eq!(id("0"), Correlation::None);
    assert_eq!(id("\"\""), Correlation::None);
    assert_eq!(
        failure(r#"{"inputs":[],"parameters":{"sequence_id":-1}}"#).1,
        "Unable to parse 'sequence_id': attempt to access JSON non-string as string"
    );
}

#[test]
fn what_is_missing_or_of_the_wrong_type_is_an_internal_error_in_the_words_that_clients_know() {
    let data = r#""data":[1]"#;
    for (json, message) in [
        ("{}".to_owned(), "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"),
        ("[]".into(), "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"),
        (
            r#"{"inputs":[],"id":1}"#.into(),
            "Unable to parse 'id': attempt to access JSON non-string as string",
        ),
        (
            r#"{"inputs":[],"parameters":[]}"#.into(),
            "failed to get request params.: attempt to get members for non-object",
        ),
        (
            r#"{"inputs":[],"parameters":{"priority":-1}}"#.into(),
            "Unable to parse 'priority': attempt to access JSON non-unsigned-integer as unsigned-integer",
        ),
        (
            r#"{"inputs":[],"outputs":{}}"#.into(),
            "Unable to parse 'outputs': attempt to access JSON non-array as array",
        ),
        (
            r#"{"inputs":[],"outputs":[{}]}"#.into(),
            "Unable to parse 'name': attempt to access non-existing object member 'name'",
        ),
        (
            r#"{"inputs":[],"outputs":[{"name":"O","parameters":{"binary_data":1}}]}"#.into(),
            "Unable to parse 'binary_data': attempt to access JSON non-boolean as boolean",
        ),
        (with_input(data), "Unable to parse 'name': attempt to access non-existing object member 'name'"),
        (
            with_input(&format!(r#""name":"A",{data}"#)),
            "Unable to parse 'datatype': attempt to access non-existing object member 'datatype'",
        ),
        (
            with_input(&format!(r#""name":"A","datatype":"FP32",{data}"#)),
            "Unable to parse 'shape': attempt to access non-existing object member 'shape'",
        ),
        (
            with_input(&format!(r#""name":"A","datatype":"FP32","shape":1,{data}"#)),
            "Unable to parse 'shape': attempt to access JSON non-array as array",
        ),
        (
            with_input(&format!(r#""name":"A","datatype":"FP32","shape":[-1],{data}"#)),
            "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer",
        ),
        (
            with_input(r#""name":"A","datatype":"FP32","shape":[1],"data":1"#),
            "Unable to parse 'data': attempt to access JSON non-array as array",
        ),
        (
            with_input(r#""name":"A","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":"4"}"#),
            "Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as unsigned-integer",
        ),
        ("{\"inputs\":[".into(), "failed to parse the request JSON buffer: Invalid value. at 11"),
    ] {
        assert_eq!(failure(&json), (ErrorKind::Internal, message.to_owned()), "{json}");
    }
}

#[test]
fn what_the_protocol_forbids_is_an_invalid_argument() {
    let fields = "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', \
                  'shared_memory_region' in 'parameters'. But";
    for (json, message) in [
        (with_input(r#""name":"A""#), format!("{fields} no field is set")),
        ("{\"inputs\":[1]}".to_owned(), format!("{fields} no field is set")),
        (
            with_input(r#""data":[],"parameters":{"binary_data_size":1}"#),
            format!("{fields} set 'data' 'binary_data_size'"),
        ),
        (
            r#"{"inputs":[],"parameters":{"triton_x":1}}"#.to_owned(),
            "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified."
                .to_owned(),
        ),
        (
            r#"{"inputs":[],"parameters":{"list":[1]}}"#.to_owned(),
            "parameter 'list' has invalid type. It should be either 'int', 'bool', or 'string'.".to_owned(),
        ),
        (
            r#"{"inputs":[],"outputs":[{"name":"O","parameters":{"shared_memory_region":"r","classification":1}}]}"#
                .to_owned(),
            "Output can't set both 'shared_memory_region' and 'classification'".to_owned(),
        ),
        (
            r#"{"inputs":[],"outputs":[{"name":"O","parameters":{"shared_memory_region":"r","binary_data":true}}]}"#
                .to_owned(),
            "Output can't set both 'shared_memory_region' and 'binary_data'".to_owned(),
        ),
        (
            with_input(r#""name":"A","datatype":"INT8","shape":[9223372036854775807,2],"data":[1]"#),
            "invalid shape for input 'A': shape [9223372036854775807,2] causes total element count to exceed maximum \
             size of 9223372036854775807"
                .to_owned(),
        ),
        (
            with_input(r#""name":"A","datatype":"INT8","shape":[18446744073709551614],"data":[1]"#),
            "invalid shape for input 'A': shape [-2] contains one or more invalid dimensions".to_owned(),
        ),
    ] {
        assert_eq!(failure(&json), (ErrorKind::InvalidArgument, message), "{json}");
    }
}

#[test]
fn regions_are_unknown_and_classes_unsupported_for_now() {
    let region = with_input(
        r#""name":"A","datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}"#,
    );
    assert_eq!(failure(&region), (ErrorKind::NotFound, "Unable to find shared memory region: 'r'".into()));
    let classes = r#"{"inputs":[],"outputs":[{"name":"O","parameters":{"classification":3}}]}"#;
    assert_eq!(failure(classes).0, ErrorKind::Unsupported);
}

#[test]
fn an_unknown_type_of_a_binary_tensor_is_left_to_the_model() {
    let json = with_input(r#""name":"A","datatype":"fp32","shape":[1],"parameters":{"binary_data_size":0}"#);
    assert_eq!(request(&json).inputs[0].datatype, DataType::TypeInvalid);
}

#[test]
fn the_data_of_a_shape_without_elements_is_ignored() {
    for shape in ["[]", "[3,0]"] {
        let json = with_input(&format!(r#""name":"A","datatype":"FP32","shape":{shape},"data":"x""#));
        assert!(request(&json).inputs[0].data.is_empty());
    }
}

#[test]
fn more_than_any_model_has_is_refused() {
    let many = |item: &str, count| vec![item; count].join(",");
    let outputs = format!("{{\"inputs\":[],\"outputs\":[{}]}}", many("{\"name\":\"O\"}", TENSORS_MAX + 1));
    assert!(failure(&outputs).1.contains("4096 outputs at most"));
    let shape =
        format!("\"name\":\"A\",\"datatype\":\"FP32\",\"shape\":[{}],\"data\":[]", many("1", RANK_MAX + 1));
    assert!(failure(&with_input(&shape)).1.contains("a tensor may have 64 at most"));
    let parameters = format!("{{\"inputs\":[],\"parameters\":{{{}}}}}", many("\"p\":1", PARAMETERS_MAX + 1));
    assert!(failure(&parameters).1.contains("4096 parameters at most"));
}

/// Pieces of requests, put together at random.
fn fragments() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"inputs\":[{",
        "\"name\":\"A\"",
        "\"datatype\":\"FP32\"",
        "\"datatype\":\"BYTES\"",
        "\"shape\":[1]",
        "\"shape\":[99999999999]",
        "\"data\":[1.5]",
        "\"data\":[[\"a\"]]",
        "\"parameters\":{",
        "\"binary_data_size\":3",
        "\"outputs\":[{",
        "NaN",
        "-Infinity",
        "1e999",
        "\"\\ud800\"",
        "\\",
        "\"",
        "null",
        "true",
        "18446744073709551616",
        "\u{0}",
    ]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_body_makes_the_decoder_panic(text in fragments(), tail: Vec<u8>, length in 0_usize..300) {
        let body = Rope::from(Bytes::from([text.as_bytes(), &tail].concat()));
        let length = length.min(body.len() + 3);
        let _ = decode("m", body, length, LIMIT);
    }

    #[test]
    fn no_change_of_a_good_request_makes_the_decoder_panic(
        at in 0_usize..180, byte: u8, length in 0_usize..190
    ) {
        let mut text = br#"{"id":"1","inputs":[{"name":"A","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}},{"name":"B","shape":[2],"datatype":"FP32","data":[1,2.5e3]}],"outputs":[{"name":"O"}]}aa"#.to_vec();
        let at = at % text.len();
        text[at] = byte;
        let _ = decode("m", Rope::from(Bytes::from(text)), length, LIMIT);
    }

    #[test]
    fn floats_arrive_as_a_json_library_would_read_them(values in prop::collection::vec(-1e30_f32..1e30, 1..20)) {
        let json = serde_json::json!({"inputs": [{
            "name": "A", "datatype": "FP32", "shape": [values.len()], "data": values,
        }]});
        let request = request(&json.to_string());
        let expected: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        prop_assert_eq!(bytes_of(&request.inputs[0]), expected.as_slice());
    }
}
