//! Arithmetic on shapes.

use super::{DataType, ShapeError, byte_len, element_count};
use proptest::prelude::*;

#[test]
fn a_shape_without_dimensions_is_one_element() {
    assert_eq!(element_count(&[]), Ok(1));
    assert_eq!(byte_len(DataType::Fp64, &[]), Ok(Some(8)));
}

#[test]
fn a_zero_makes_any_shape_empty_wherever_it_stands() {
    assert_eq!(element_count(&[i64::MAX, i64::MAX, 0]), Ok(0));
    assert_eq!(element_count(&[0, i64::MAX, i64::MAX]), Ok(0));
}

#[test]
fn a_negative_dimension_is_named() {
    assert_eq!(element_count(&[0, 3, -1]), Err(ShapeError::Negative { index: 2, value: -1 }));
    assert_eq!(
        byte_len(DataType::Bytes, &[i64::MIN]),
        Err(ShapeError::Negative { index: 0, value: i64::MIN })
    );
}

/// Dimensions of which some products fit and some do not.
fn shapes() -> impl Strategy<Value = Vec<i64>> {
    let dimension = prop_oneof![
        4 => 0..=5_i64,
        2 => (0..=63_u32).prop_map(|bits| (1_i64 << bits.min(62)) - i64::from(bits % 3)),
        1 => any::<i64>(),
    ];
    prop::collection::vec(dimension, 0..7)
}

proptest! {
    #[test]
    fn counts_and_lengths_agree_with_wider_arithmetic(shape in shapes(), index in 0..DataType::ALL.len()) {
        let datatype = DataType::ALL[index];
        let negative = shape.iter().any(|&size| size < 0);
        let zero = shape.contains(&0);
        // Saturated: once over 64 bits, more factors of at least 1 do not lead back.
        let wide = if zero { 0 } else {
            shape.iter().fold(1_u128, |product, &size| product.saturating_mul(size.unsigned_abs().into()))
        };
        let fits = |value: u128| u64::try_from(value).map_err(|_| ShapeError::Overflow);
        if negative {
            let refused = matches!(element_count(&shape), Err(ShapeError::Negative { .. }));
            prop_assert!(refused);
        } else {
            prop_assert_eq!(element_count(&shape), fits(wide));
            let expected = fits(wide).and_then(|_| match datatype.byte_size() {
                None => Ok(None),
                Some(size) => fits(wide.saturating_mul(size as u128)).map(Some),
            });
            prop_assert_eq!(byte_len(datatype, &shape), expected);
        }
    }
}
