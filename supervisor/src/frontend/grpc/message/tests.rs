use super::*;
use nereid_proto::inference::model_infer_request::InferInputTensor;
use nereid_proto::inference::model_infer_response::InferOutputTensor;
use nereid_proto::inference::{InferParameter, InferTensorContents};
use proptest::prelude::*;

fn request(raw: Vec<Bytes>) -> ModelInferRequest {
    let contents = InferTensorContents { fp32_contents: vec![1.5, 2.5], ..InferTensorContents::default() };
    ModelInferRequest {
        model_name: "m".into(),
        id: "7".into(),
        parameters: [("p".to_owned(), InferParameter::default())].into(),
        inputs: vec![
            InferInputTensor { name: "A".into(), shape: vec![1, -2], ..InferInputTensor::default() },
            InferInputTensor { name: "B".into(), contents: Some(contents), ..InferInputTensor::default() },
        ],
        raw_input_contents: raw,
        ..ModelInferRequest::default()
    }
}

fn rope(bytes: &[u8], piece: usize) -> Rope {
    let mut rope = Rope::default();
    bytes.chunks(piece).for_each(|piece| rope.push(Bytes::copy_from_slice(piece)));
    rope
}

/// Decodes as for a short and as for a long request, which must agree.
fn decoded(bytes: &[u8], piece: usize) -> Result<Request, Status> {
    let short = Decoder::new(rope(bytes, piece)).decode(usize::MAX);
    let long = Decoder::new(rope(bytes, piece)).decode(0);
    match (&short, &long) {
        // As bytes, because not every number is equal to itself.
        (Ok(short), Ok(long)) => assert_eq!(short.message.encode_to_vec(), long.message.encode_to_vec()),
        _ => assert_eq!(short.is_ok(), long.is_ok()),
    }
    long
}

impl Decoder {
    fn decode(mut self, rest_max: usize) -> Result<Request, Status> {
        if !self.cut_apart(rest_max)? {
            assert!(self.cut_apart(usize::MAX)?);
        }
        self.finish()
    }
}

#[test]
fn a_request_is_decoded_as_a_general_decoder_would() {
    let message = request(vec![Bytes::from(vec![1; 20_000]), Bytes::new(), Bytes::from_static(b"xy")]);
    let bytes = message.encode_to_vec();
    for piece in [1, 1000, 4097, 5000, bytes.len()] {
        let decoded = decoded(&bytes, piece).unwrap();
        let expected = Request::from(message.clone());
        assert_eq!(decoded.message, expected.message);
        let joined: Vec<Bytes> = decoded.raw.iter().map(crate::frontend::rope::joined).collect();
        assert!(joined == message.raw_input_contents, "{piece}");
    }
}

#[test]
fn a_tensor_in_one_piece_is_not_copied() {
    let bytes = Bytes::from(request(vec![Bytes::from(vec![1; 20_000])]).encode_to_vec());
    let decoded = Decoder::new(Rope::from(bytes.clone())).decode(usize::MAX).unwrap();
    let data = decoded.raw[0].as_slice().unwrap();
    assert!(bytes.as_ptr_range().contains(&data.as_ptr()));
}

#[test]
fn more_fields_than_any_model_has_are_refused() {
    let message = ModelInferRequest {
        inputs: vec![InferInputTensor::default(); 3 * FIELDS_MAX + 1],
        ..ModelInferRequest::default()
    };
    let status = decoded(&message.encode_to_vec(), 1 << 20).unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
}

#[test]
fn a_response_is_encoded_as_a_general_encoder_would() {
    let tensors = [vec![1; 5], vec![2; JOINED_TENSOR + 1], Vec::new(), vec![3; 7]].map(Bytes::from);
    let response = ModelInferResponse {
        model_name: "m".into(),
        outputs: vec![InferOutputTensor { name: "O".into(), ..InferOutputTensor::default() }],
        raw_output_contents: tensors.to_vec(),
        ..ModelInferResponse::default()
    };
    let pieces = encode(response.clone());
    assert_eq!(pieces.len(), 3);
    assert_eq!(pieces[1].as_ptr(), tensors[1].as_ptr());
    let bytes = pieces.iter().flat_map(|piece| piece.to_vec()).collect::<Vec<u8>>();
    let length = u32::try_from(bytes.len() - HEAD_SIZE).unwrap();
    assert_eq!(bytes[..HEAD_SIZE], [&[0][..], &length.to_be_bytes()].concat());
    assert_eq!(ModelInferResponse::decode(&bytes[HEAD_SIZE..]).unwrap(), response);
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_as_a_general_decoder_would(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let expected = ModelInferRequest::decode(bytes.as_slice());
        let decoded = decoded(&bytes, 7);
        prop_assert_eq!(decoded.is_ok(), expected.is_ok());
        if let (Ok(decoded), Ok(expected)) = (decoded, expected) {
            prop_assert_eq!(decoded.message, Request::from(expected).message);
        }
    }

    #[test]
    fn no_change_of_a_good_request_makes_the_decoder_panic(at in 0_usize..80, byte: u8) {
        let mut bytes = request(vec![Bytes::from_static(b"abc")]).encode_to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = decoded(&bytes, 5);
    }
}

#[tokio::test]
async fn a_long_request_is_decoded_by_another_thread() {
    let contents =
        InferTensorContents { fp32_contents: vec![1.5; LONG_WORK], ..InferTensorContents::default() };
    let input = InferInputTensor { contents: Some(contents), ..InferInputTensor::default() };
    let message = ModelInferRequest { inputs: vec![input], ..request(vec![Bytes::from_static(b"raw")]) };
    let bytes = message.encode_to_vec();
    assert!(!Decoder::new(rope(&bytes, 5000)).cut_apart(LONG_WORK).unwrap());
    let decoded = decode(rope(&bytes, 5000)).await.unwrap();
    assert!(decoded.message == Request::from(message).message);
    assert_eq!(decoded.raw.len(), 1);
}
