use super::*;
use nereid_proto::inference::ModelInput;

fn model(max_batch_size: i32, inputs: &[(DataType, &[i64])]) -> ModelConfig {
    ModelConfig {
        name: "m".into(),
        max_batch_size,
        input: inputs
            .iter()
            .map(|(datatype, dims)| ModelInput {
                name: "IN".into(),
                data_type: (*datatype).into(),
                dims: dims.to_vec(),
                ..ModelInput::default()
            })
            .collect(),
        ..ModelConfig::default()
    }
}

fn message(config: &ModelConfig) -> String {
    input(config, Bytes::from_static(b"abcd")).unwrap_err().message
}

#[test]
fn an_open_dimension_follows_from_the_length() {
    let data = Bytes::from(vec![0; 48]);
    let tensor = input(&model(8, &[(DataType::TypeFp32, &[3, -1])]), data.clone()).unwrap();
    assert_eq!((tensor.shape, tensor.name.as_str()), (vec![1, 3, 4], "IN"));
    let tensor = input(&model(0, &[(DataType::TypeFp32, &[12])]), data).unwrap();
    assert_eq!(tensor.shape, [12]);
}

#[test]
fn a_string_gets_its_length() {
    let tensor = input(&model(0, &[(DataType::TypeString, &[1])]), Bytes::from_static(b"abc")).unwrap();
    assert_eq!(tensor.data, &b"\x03\0\0\0abc"[..]);
    let tensor = input(&model(4, &[(DataType::TypeString, &[-1])]), Bytes::from_static(b"abc")).unwrap();
    assert_eq!(tensor.shape, [1, 1]);
}

#[test]
fn an_empty_body_is_an_empty_tensor() {
    let tensor = input(&model(0, &[(DataType::TypeFp32, &[-1])]), Bytes::new()).unwrap();
    assert_eq!(tensor.shape, [0]);
    let tensor = input(&model(0, &[(DataType::TypeFp32, &[0, -1])]), Bytes::new()).unwrap();
    assert_eq!(tensor.shape, [0, 0]);
}

#[test]
fn what_cannot_be_deduced_is_told_in_the_words_that_clients_know() {
    let fp32 = DataType::TypeFp32;
    assert_eq!(
        message(&model(0, &[(fp32, &[1]), (fp32, &[1])])),
        "Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'm' model configuration"
    );
    assert_eq!(
        message(&model(0, &[(fp32, &[-1, -1])])),
        "The shape of the raw input 'IN' can not be deduced because there are more than one variable-sized dimension"
    );
    assert_eq!(
        message(&model(0, &[(DataType::TypeString, &[2])])),
        "For BYTE datatype raw input 'IN', the model must have input shape [1]"
    );
}
