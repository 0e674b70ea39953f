use super::*;
use crate::serve::request::InputTensor;
use crate::serve::tensor_data::TensorData;
use nereid_proto::inference::DataType;

fn input(name: String, shape: Vec<i64>) -> InputTensor {
    InputTensor { name, datatype: DataType::TypeFp32, shape, data: TensorData::default() }
}

#[test]
fn a_request_may_describe_itself_up_to_the_limit() {
    let correlation = size_of::<u64>();
    let request = InferRequest { id: "x".repeat(DESCRIPTION_MAX - correlation), ..InferRequest::default() };
    assert_eq!(check(&request), Ok(()));
}

#[test]
fn whatever_is_too_long_is_refused_with_its_size() {
    let long = || "x".repeat(DESCRIPTION_MAX + 1);
    let requests = [
        InferRequest { id: long(), ..InferRequest::default() },
        InferRequest { correlation: Correlation::Text(long()), ..InferRequest::default() },
        InferRequest { outputs: vec![long()], ..InferRequest::default() },
        InferRequest { inputs: vec![input(long(), vec![])], ..InferRequest::default() },
        InferRequest { inputs: vec![input(String::new(), vec![1; 1 << 18])], ..InferRequest::default() },
        InferRequest { parameters: vec![(long(), ParameterValue::Bool(true))], ..InferRequest::default() },
        InferRequest {
            parameters: vec![("p".into(), ParameterValue::String(long()))],
            ..InferRequest::default()
        },
    ];
    for request in requests {
        let message = check(&request).unwrap_err().message;
        assert!(message.contains("limit is 1048576 bytes"), "{message}");
    }
}
