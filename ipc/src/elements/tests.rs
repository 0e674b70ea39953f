use super::{ElementsError, check, elements, push};
use proptest::prelude::*;

fn joined(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        push(&mut bytes, part).unwrap();
    }
    bytes
}

#[test]
fn an_element_is_its_length_and_its_bytes() {
    assert_eq!(joined(&[b"abc".to_vec(), vec![]]), [3, 0, 0, 0, b'a', b'b', b'c', 0, 0, 0, 0]);
}

#[test]
fn the_count_must_be_exact() {
    let bytes = joined(&[vec![1], vec![2, 3]]);
    assert_eq!(check(&bytes, 2), Ok(()));
    assert_eq!(check(&bytes, 1), Err(ElementsError::TooMany { found: 1, left: 6, expected: 1 }));
    assert_eq!(check(&bytes, 3), Err(ElementsError::TooFew { found: 2, expected: 3 }));
    assert_eq!(check(&[], 0), Ok(()));
}

#[test]
fn a_length_beyond_the_end_ends_the_iteration_with_an_error() {
    let bytes = [0, 0, 0, 0, 255, 255, 255, 255, 1];
    let all: Vec<_> = elements(&bytes).collect();
    assert_eq!(all, [Ok(&[][..]), Err(ElementsError::Truncated { index: 1 })]);
    assert_eq!(check(&bytes, 2), Err(ElementsError::Truncated { index: 1 }));
}

proptest! {
    #[test]
    fn elements_come_back_as_they_were(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..20),
    ) {
        let bytes = joined(&parts);
        let back: Result<Vec<_>, _> = elements(&bytes).map(|part| part.map(<[u8]>::to_vec)).collect();
        prop_assert_eq!(back, Ok(parts.clone()));
        prop_assert_eq!(check(&bytes, parts.len() as u64), Ok(()));
        for cut in 0..bytes.len() {
            prop_assert!(check(&bytes[..cut], parts.len() as u64).is_err());
        }
    }

    #[test]
    fn arbitrary_bytes_give_slices_within_them(bytes in prop::collection::vec(0..8_u8, 0..64)) {
        let total: usize = elements(&bytes).flatten().map(|element| element.len() + 4).sum();
        prop_assert!(total <= bytes.len());
    }
}
