use super::*;
use proptest::prelude::*;

const LIMIT: u64 = 1 << 20;

fn decoded(datatype: DataType, elements: u64, data: &str) -> Result<Bytes, String> {
    let value = Value::parse(data.as_bytes()).unwrap();
    decode("IN", datatype, elements, value, LIMIT).map_err(|error| error.message)
}

fn encoded(datatype: DataType, shape: &[i64], data: &[u8]) -> Result<String, String> {
    let tensor = OutputTensor {
        name: "OUT".into(),
        datatype,
        shape: shape.to_vec(),
        data: Bytes::copy_from_slice(data),
    };
    let mut out = Vec::new();
    encode(&mut out, &tensor).map_err(|error| error.message)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn numbers_of_every_type_become_little_endian_bytes() {
    for (datatype, data, bytes) in [
        (DataType::TypeBool, "[true,false]", &[1, 0][..]),
        (DataType::TypeUint8, "[255,1]", &[255, 1]),
        (DataType::TypeUint16, "[258,1]", &[2, 1, 1, 0]),
        (DataType::TypeUint32, "[1,2]", &[1, 0, 0, 0, 2, 0, 0, 0]),
        (DataType::TypeInt8, "[-1,1]", &[255, 1]),
        (DataType::TypeInt16, "[-2,1]", &[254, 255, 1, 0]),
        (DataType::TypeInt32, "[-1,1]", &[255, 255, 255, 255, 1, 0, 0, 0]),
        (DataType::TypeUint64, "[1, 2]", &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]),
        (DataType::TypeFp32, "[1.5, -2]", &[0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0]),
    ] {
        assert_eq!(decoded(datatype, 2, data).unwrap().as_ref(), bytes, "{datatype:?}");
    }
    assert_eq!(decoded(DataType::TypeFp64, 1, "[0.1]").unwrap().as_ref(), 0.1_f64.to_le_bytes());
}

#[test]
fn integers_are_cut_to_their_type() {
    assert_eq!(decoded(DataType::TypeUint8, 1, "[257]").unwrap().as_ref(), [1]);
    assert_eq!(decoded(DataType::TypeInt8, 1, "[-129]").unwrap().as_ref(), [127]);
}

#[test]
fn nesting_does_not_matter_but_has_a_limit() {
    assert_eq!(decoded(DataType::TypeUint8, 4, "[[1,[2]],[],[3, 4]]").unwrap().as_ref(), [1, 2, 3, 4]);
    let nested = |depth: usize, value: &str| format!("{}{value}{}", "[".repeat(depth), "]".repeat(depth));
    for (datatype, value) in [(DataType::TypeInt64, "1"), (DataType::TypeString, "\"a\"")] {
        assert!(decoded(datatype, 1, &nested(99, value)).is_ok());
        let message = decoded(datatype, 1, &nested(100, value)).unwrap_err();
        assert!(message.contains("JSON nesting depth exceeds maximum allowed limit (100)"), "{message}");
    }
}

#[test]
fn a_wrong_number_of_elements_is_told_in_the_words_that_clients_know() {
    assert_eq!(
        decoded(DataType::TypeInt32, 2, "[1,2,3]").unwrap_err(),
        "Unable to parse 'data': Shape does not match true shape of 'data' field"
    );
    assert_eq!(
        decoded(DataType::TypeInt32, 4, "[1,2,3]").unwrap_err(),
        "Failed to parse 'data' field: shape does not match true shape"
    );
}

#[test]
fn values_of_the_wrong_type_are_refused() {
    for (datatype, data, wanted) in [
        (DataType::TypeBool, "[1]", "non-boolean as boolean"),
        (DataType::TypeUint8, "[-1]", "non-unsigned-integer as unsigned-integer"),
        (DataType::TypeInt32, "[1.0]", "non-signed-integer as signed-integer"),
        (DataType::TypeInt64, "[9223372036854775808]", "non-signed-integer as signed-integer"),
        (DataType::TypeFp32, "[\"1\"]", "non-number as double"),
        (DataType::TypeFp32, "[{\"a\":[1]}]", "non-number as double"),
        (DataType::TypeFp32, "[null]", "non-number as double"),
    ] {
        assert_eq!(
            decoded(datatype, 1, data).unwrap_err(),
            format!("Unable to parse 'data': attempt to access JSON {wanted}")
        );
    }
    assert_eq!(
        decoded(DataType::TypeString, 1, "[1]").unwrap_err(),
        "Unable to parse JSON bytes array: attempt to access JSON non-string as string"
    );
}

#[test]
fn halves_do_not_travel_as_json() {
    assert_eq!(
        decoded(DataType::TypeFp16, 1, "[1]").unwrap_err(),
        "receiving FP16 data via JSON is not supported. Please use the binary data format for input IN"
    );
    assert_eq!(
        encoded(DataType::TypeBf16, &[1], &[0, 0]).unwrap_err(),
        "sending BF16 data via JSON is not supported. Please use the binary data format for output"
    );
}

#[test]
fn what_no_limit_allows_is_refused_before_memory_is_taken() {
    assert_eq!(
        decoded(DataType::TypeFp64, LIMIT, "[1]").unwrap_err(),
        "JSON input 'IN' has a byte_size (8388608 bytes) that exceeds the maximum allowed value of 1048576 bytes. Use \
         --http-max-input-size to increase the limit."
    );
    assert_eq!(
        decoded(DataType::TypeInt64, u64::MAX / 4, "[1]").unwrap_err(),
        "byte size overflow for input 'IN': element count (4611686018427387903) * data type size (8) exceeds maximum \
         allowed size (9223372036854775807)"
    );
}

#[test]
fn an_unknown_type_is_named() {
    assert_eq!(decoded(DataType::TypeInvalid, 1, "[1]").unwrap_err(), "invalid datatype for input IN");
}

#[test]
fn strings_get_their_length_before_them() {
    assert_eq!(
        decoded(DataType::TypeString, 2, "[\"ab\", [\"\\u0000\"]]").unwrap().as_ref(),
        b"\x02\0\0\0ab\x01\0\0\0\0"
    );
    assert_eq!(
        encoded(DataType::TypeString, &[2], b"\x02\0\0\0ab\x01\0\0\0\"").unwrap(),
        "[\"ab\",\"\\\"\"]"
    );
}

#[test]
fn strings_that_do_not_fit_their_shape_are_an_error() {
    for (shape, data) in
        [(&[2][..], &b"\x02\0\0\0ab"[..]), (&[1], b"\x03\0\0\0ab"), (&[1], b"\x01\0"), (&[-1], b"")]
    {
        assert_eq!(
            encoded(DataType::TypeString, shape, data).unwrap_err(),
            "output tensor shape does not match size of output for 'OUT'"
        );
    }
}

#[test]
fn outputs_are_flat_and_their_size_must_fit_their_shape() {
    let data: Vec<u8> =
        [1.0_f32, 0.1, f32::NAN, f32::NEG_INFINITY].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(
        encoded(DataType::TypeFp32, &[2, 2], &data).unwrap(),
        "[1.0,0.10000000149011612,NaN,-Infinity]"
    );
    assert_eq!(encoded(DataType::TypeBool, &[2], &[0, 7]).unwrap(), "[false,true]");
    assert_eq!(encoded(DataType::TypeInt8, &[1], &[128]).unwrap(), "[-128]");
    assert_eq!(encoded(DataType::TypeInt32, &[], &[1, 0, 0, 0]).unwrap(), "[1]");
    assert_eq!(encoded(DataType::TypeInt32, &[0], &[]).unwrap(), "[]");
    assert_eq!(
        encoded(DataType::TypeFp32, &[3], &data).unwrap_err(),
        "Failed to write 'data' field: output tensor shape does not match size of output for 'OUT'"
    );
}

#[test]
fn shapes_are_counted_as_clients_know_it() {
    assert_eq!(count(&[]), Count::Elements(0));
    assert_eq!(count(&[2, 3]), Count::Elements(6));
    assert_eq!(count(&[2, 0, -5]), Count::Elements(0));
    assert_eq!(count(&[2, -5]), Count::Invalid);
    assert_eq!(count(&[i64::MAX, 2]), Count::Overflow);
}

proptest! {
    #[test]
    fn numbers_survive_both_ways(values: Vec<u64>) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for (datatype, size) in [
            (DataType::TypeUint8, 1), (DataType::TypeInt16, 2), (DataType::TypeUint32, 4), (DataType::TypeInt64, 8),
            (DataType::TypeUint64, 8),
        ] {
            let elements = bytes.len() / size;
            let text = encoded(datatype, &[i64::try_from(elements).unwrap()], &bytes).unwrap();
            let back = decoded(datatype, elements as u64, &text).unwrap();
            prop_assert_eq!(back.as_ref(), bytes.as_slice());
        }
    }
}
