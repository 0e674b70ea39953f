use super::{Fault, Limits, MAX_NAME, MAX_RANK, check};
use crate::datatype::{DataType, ShapeError};
use nereid_proto::worker::Tensor;
use proptest::prelude::*;
use prost::Message as _;

fn fp32(shape: &[i64], offset: u64, length: u64) -> Tensor {
    let data_type = DataType::Fp32.number();
    Tensor { name: "x".to_owned(), data_type, shape: shape.to_vec(), offset, length, ..Default::default() }
}

fn fault(tensor: &Tensor, segment: u64) -> Fault {
    check(tensor, segment, Limits::default()).unwrap_err().fault
}

#[test]
fn a_tensor_that_fills_its_segment_is_accepted() {
    let checked = check(&fp32(&[2, 8], 0, 64), 64, Limits::default()).unwrap();
    assert_eq!(
        (checked.datatype, checked.elements, checked.offset, checked.length),
        (DataType::Fp32, 16, 0, 64)
    );
}

#[test]
fn an_empty_tensor_may_lie_at_the_end_but_not_behind_it() {
    assert!(check(&fp32(&[0], 64, 0), 64, Limits::default()).is_ok());
    assert!(matches!(fault(&fp32(&[0], 65, 0), 64), Fault::OutOfBounds { .. }));
}

#[test]
fn a_tensor_behind_the_end_is_refused() {
    assert_eq!(fault(&fp32(&[16], 1, 64), 64), Fault::OutOfBounds { offset: 1, length: 64, segment: 64 });
}

#[test]
fn an_end_that_overflows_is_refused() {
    assert!(matches!(fault(&fp32(&[16], u64::MAX - 3, 64), 64), Fault::OutOfBounds { .. }));
}

#[test]
fn a_length_that_is_not_that_of_the_shape_is_refused() {
    for length in [0, 63, 65] {
        let expected = Fault::Length { datatype: DataType::Fp32, length, expected: 64 };
        assert_eq!(fault(&fp32(&[16], 0, length), 1024), expected);
    }
}

#[test]
fn a_shape_that_overflows_is_refused() {
    assert_eq!(fault(&fp32(&[i64::MAX, 4], 0, 64), 64), Fault::Shape(ShapeError::Overflow));
    // The count of elements fits, that of bytes does not.
    assert_eq!(fault(&fp32(&[i64::MAX], 0, 64), 64), Fault::Shape(ShapeError::Overflow));
}

#[test]
fn a_negative_dimension_is_refused() {
    assert!(matches!(
        fault(&fp32(&[-1], 0, 64), 64),
        Fault::Shape(ShapeError::Negative { index: 0, value: -1 })
    ));
}

#[test]
fn an_unknown_data_type_is_refused() {
    for data_type in [0, 15, u32::MAX] {
        assert_eq!(fault(&Tensor { data_type, ..fp32(&[16], 0, 64) }, 64), Fault::DataType(data_type));
    }
}

#[test]
fn names_and_ranks_are_bounded() {
    let name = "n".repeat(MAX_NAME + 1);
    let error = check(&Tensor { name, ..fp32(&[16], 0, 64) }, 64, Limits::default()).unwrap_err();
    assert_eq!(error.fault, Fault::Name { length: MAX_NAME + 1, limit: MAX_NAME });
    assert!(error.to_string().len() < 200, "the error repeats the long name");
    assert!(check(&fp32(&[1; MAX_RANK], 0, 4), 64, Limits::default()).is_ok());
    assert_eq!(
        fault(&fp32(&[1; MAX_RANK + 1], 0, 4), 64),
        Fault::Rank { rank: MAX_RANK + 1, limit: MAX_RANK }
    );
}

#[test]
fn a_name_is_cut_between_characters() {
    let tensor = Tensor { name: "é".repeat(200), data_type: 0, ..Default::default() };
    assert!(check(&tensor, 64, Limits::default()).unwrap_err().name.starts_with('é'));
}

#[test]
fn more_elements_of_bytes_than_there_can_be_are_refused() {
    let tensor =
        |shape: &[i64], length| Tensor { data_type: DataType::Bytes.number(), ..fp32(shape, 0, length) };
    assert!(check(&tensor(&[2], 8), 64, Limits::default()).is_ok());
    assert!(check(&tensor(&[2], 50), 64, Limits::default()).is_ok());
    assert_eq!(fault(&tensor(&[3], 8), 64), Fault::BytesLength { length: 8, elements: 3 });
    assert_eq!(
        fault(&tensor(&[i64::MAX], 8), 64),
        Fault::BytesLength { length: 8, elements: i64::MAX as u64 }
    );
}

/// Near the bounds, where mistakes are.
fn near(limit: u64) -> impl Strategy<Value = u64> {
    prop_oneof![0..=limit + 8, (0..64_u64).prop_map(|back| u64::MAX - back), any::<u64>()]
}

proptest! {
    #[test]
    fn no_accepted_descriptor_leaves_its_segment(
        data_type in 0..17_u32,
        shape in prop::collection::vec(prop_oneof![0..6_i64, any::<i64>()], 0..4),
        segment in 0..200_u64,
        offset in near(200),
        stray in near(200),
        honest in any::<bool>(),
    ) {
        let datatype = DataType::from_number(data_type);
        let told = datatype.and_then(|datatype| crate::datatype::byte_len(datatype, &shape).ok().flatten());
        let length = told.filter(|_| honest).unwrap_or(stray);
        let tensor = Tensor { data_type, shape: shape.clone(), offset, length, ..Default::default() };
        if let Ok(checked) = check(&tensor, segment, Limits::default()) {
            prop_assert!(u128::from(checked.offset) + u128::from(checked.length) <= u128::from(segment));
            prop_assert_eq!((checked.offset, checked.length), (offset, length));
            let elements = shape.iter().map(|&size| u128::try_from(size).unwrap()).product::<u128>();
            prop_assert_eq!(u128::from(checked.elements), elements);
            match checked.datatype.byte_size() {
                Some(size) => prop_assert_eq!(elements * size as u128, u128::from(length)),
                None => prop_assert!(elements * 4 <= u128::from(length)),
            }
        }
    }

    #[test]
    fn arbitrary_bytes_as_a_descriptor_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..128),
        segment in any::<u64>(),
    ) {
        if let Ok(tensor) = Tensor::decode(bytes.as_slice()) {
            let _ = check(&tensor, segment, Limits::default());
        }
    }
}
