use super::*;
use nereid_proto::inference::DataType;

fn output(name: &str, data: Bytes) -> OutputTensor {
    let length = i64::try_from(data.len()).unwrap();
    OutputTensor { name: name.into(), datatype: DataType::TypeUint8, shape: vec![length], data }
}

fn response(outputs: Vec<OutputTensor>) -> InferResponse {
    InferResponse { model: "m".into(), version: 3, outputs, ..InferResponse::default() }
}

fn text(encoded: &Encoded) -> &str {
    let end = encoded.json_length.unwrap_or(encoded.first.len());
    std::str::from_utf8(&encoded.first[..end]).unwrap()
}

#[test]
fn a_json_reply_has_its_members_in_the_order_that_clients_know() {
    let mut response = response(vec![output("a", Bytes::from_static(&[1, 2])), output("b", Bytes::new())]);
    response.id = "7\"".into();
    response.parameters = vec![
        ("flag".into(), ParameterValue::Bool(true)),
        ("count".into(), ParameterValue::Int64(-2)),
        ("ratio".into(), ParameterValue::Double(0.5)),
        ("text".into(), ParameterValue::String("x".into())),
    ];
    let encoded = encode(response, &OutputPlan::default()).unwrap();
    assert_eq!(
        text(&encoded),
        r#"{"id":"7\"","model_name":"m","model_version":"3","parameters":{"flag":true,"count":-2,"ratio":0.5,"text":"x"},"outputs":[{"name":"a","datatype":"UINT8","shape":[2],"data":[1,2]},{"name":"b","datatype":"UINT8","shape":[0],"data":[]}]}"#
    );
    assert!(encoded.json_length.is_none() && encoded.rest.is_empty());
}

#[test]
fn small_tensors_are_joined_with_the_json_and_large_ones_are_not_copied() {
    let large = Bytes::from(vec![7; JOINED_TENSOR + 1]);
    let outputs = vec![
        output("a", Bytes::from_static(b"AA")),
        output("b", large.clone()),
        output("c", Bytes::from_static(b"CC")),
    ];
    let encoded = encode(response(outputs), &OutputPlan::binary()).unwrap();
    let json_length = encoded.json_length.unwrap();
    assert_eq!(&encoded.first[json_length..], b"AA");
    assert_eq!(encoded.rest.len(), 2);
    assert_eq!(encoded.rest[0].as_ptr(), large.as_ptr());
    assert_eq!(encoded.rest[1], "CC");
    assert!(
        text(&encoded)
            .contains(r#"{"name":"a","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":2}}"#)
    );
}

#[test]
fn binary_outputs_without_a_byte_leave_a_json_reply() {
    let encoded = encode(response(vec![output("a", Bytes::new())]), &OutputPlan::binary()).unwrap();
    assert!(encoded.json_length.is_none());
    assert!(text(&encoded).contains(r#""parameters":{"binary_data_size":0}"#));
}

#[test]
fn a_listed_output_is_what_it_says_and_others_are_the_default() {
    let mut plan = OutputPlan::binary();
    plan.list("a".into(), false);
    plan.list("b".into(), true);
    assert!(!plan.is_binary("a") && plan.is_binary("b") && plan.is_binary("c"));
}

#[test]
fn bytes_are_no_parameter_of_a_reply() {
    let mut response = response(Vec::new());
    response.parameters.push(("x".into(), ParameterValue::Bytes(Bytes::new())));
    assert_eq!(
        encode(response, &OutputPlan::default()).unwrap_err().message,
        "Response parameter of type 'TRITONSERVER_PARAMETER_BYTES' is not currently supported"
    );
}
