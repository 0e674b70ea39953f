use super::*;

const SUBJECT: Subject<'static> = Subject { input: "IN", model: "m" };

fn filled(datatype: DataType, contents: InferTensorContents) -> Result<Vec<u8>, String> {
    bytes(SUBJECT, datatype, &contents).map(|bytes| bytes.to_vec()).map_err(|error| error.message)
}

fn ints(values: &[i32]) -> InferTensorContents {
    InferTensorContents { int_contents: values.to_vec(), ..InferTensorContents::default() }
}

fn uints(values: &[u32]) -> InferTensorContents {
    InferTensorContents { uint_contents: values.to_vec(), ..InferTensorContents::default() }
}

#[test]
fn every_field_becomes_the_bytes_of_its_type() {
    let empty = InferTensorContents::default;
    let table: Vec<(DataType, InferTensorContents, Vec<u8>)> = vec![
        (DataType::TypeBool, InferTensorContents { bool_contents: vec![true, false], ..empty() }, vec![1, 0]),
        (DataType::TypeInt8, ints(&[-1, 257]), vec![255, 1]),
        (DataType::TypeInt16, ints(&[-2]), vec![254, 255]),
        (DataType::TypeInt32, ints(&[1]), vec![1, 0, 0, 0]),
        (DataType::TypeInt64, InferTensorContents { int64_contents: vec![-1], ..empty() }, vec![255; 8]),
        (DataType::TypeUint8, uints(&[255]), vec![255]),
        (DataType::TypeUint16, uints(&[258]), vec![2, 1]),
        (DataType::TypeUint32, uints(&[1]), vec![1, 0, 0, 0]),
        (
            DataType::TypeUint64,
            InferTensorContents { uint64_contents: vec![1], ..empty() },
            1_u64.to_le_bytes().into(),
        ),
        (
            DataType::TypeFp32,
            InferTensorContents { fp32_contents: vec![1.5], ..empty() },
            1.5_f32.to_le_bytes().into(),
        ),
        (
            DataType::TypeFp64,
            InferTensorContents { fp64_contents: vec![0.1], ..empty() },
            0.1_f64.to_le_bytes().into(),
        ),
        (
            DataType::TypeString,
            InferTensorContents { bytes_contents: vec![Bytes::from_static(b"ab"), Bytes::new()], ..empty() },
            b"\x02\0\0\0ab\0\0\0\0".to_vec(),
        ),
        (DataType::TypeFp16, empty(), Vec::new()),
    ];
    for (datatype, contents, expected) in table {
        assert_eq!(filled(datatype, contents).unwrap(), expected, "{datatype:?}");
    }
}

#[test]
fn the_wrong_field_is_named_by_its_type() {
    assert_eq!(
        filled(DataType::TypeInt64, ints(&[1])).unwrap_err(),
        "unexpected explicit tensor data for input tensor 'IN' for model 'm' of type 'INT32', expected datatype 'INT64'"
    );
    assert_eq!(
        filled(DataType::TypeInvalid, uints(&[1])).unwrap_err(),
        "unexpected explicit tensor data for input tensor 'IN' for model 'm' of type 'UINT32', expected datatype \
         '<invalid>'"
    );
}

#[test]
fn two_fields_are_one_too_many() {
    let contents = InferTensorContents { fp32_contents: vec![1.0], ..ints(&[1]) };
    assert_eq!(
        filled(DataType::TypeInt32, contents).unwrap_err(),
        "unexpected explicit tensor data for input tensor 'IN' for model 'm', binary data was already supplied."
    );
}
