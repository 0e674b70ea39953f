use super::*;
use proptest::prelude::*;

#[test]
fn sizes_are_products_and_zero_wins() {
    assert_eq!(elements(&[2, 3], 4), Ok(24));
    assert_eq!(elements(&[], 1), Ok(1));
    assert_eq!(elements(&[i64::MAX, 2, 0], 4), Err(Impossible::TooManyElements));
    assert_eq!(elements(&[0, i64::MAX, 2], 4), Ok(0));
    assert_eq!(elements(&[2, -2], 1), Err(Impossible::Negative));
    assert_eq!(elements(&[0, -2], 1), Err(Impossible::Negative));
    assert_eq!(bytes(&[2, 3], 1, 8), Ok(48));
    assert_eq!(bytes(&[i64::MAX], 1, 1), Ok(MOST));
    assert_eq!(bytes(&[i64::MAX], 1, 2), Err(Impossible::TooManyBytes));
    assert_eq!(bytes(&[i64::MAX, 2], 1, 1), Err(Impossible::TooManyBytes));
}

proptest! {
    #[test]
    fn sizes_never_wrap_around(shape in prop::collection::vec(any::<i64>(), 0..5), rows in 0u64..9, size in 1u64..9) {
        let exact = shape.iter().try_fold(i128::from(rows) * i128::from(size), |product, dim| product.checked_mul((*dim).into()));
        if let (Ok(bytes), Some(exact)) = (bytes(&shape, rows, size), exact) {
            prop_assert_eq!(i128::from(bytes), exact);
        }
    }
}
