use super::*;
use crate::frontend::work::LONG_WORK;
use crate::serve::tensor_data::TensorData;

#[tokio::test]
async fn strings_are_brought_together_and_other_tensors_stay_in_pieces() {
    let pieces = || -> TensorData { vec![Bytes::from(vec![b'x'; LONG_WORK]); 2].into_iter().collect() };
    let input = |datatype| InputTensor { name: "A".into(), datatype, shape: vec![1], data: pieces() };
    let inputs = vec![input(DataType::TypeString), input(DataType::TypeUint8)];
    let request = join_strings(InferRequest { inputs, ..InferRequest::default() }).await.unwrap();
    assert_eq!(request.inputs[0].data.as_slice().unwrap(), vec![b'x'; 2 * LONG_WORK]);
    assert!(request.inputs[1].data.as_slice().is_none());
}
