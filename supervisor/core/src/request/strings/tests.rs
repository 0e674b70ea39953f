use super::*;
use proptest::prelude::*;

fn encoded(strings: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for string in strings {
        bytes.extend_from_slice(&u32::try_from(string.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(string);
    }
    bytes
}

#[test]
fn the_number_of_strings_must_be_exact() {
    let two = encoded(&[b"ab", b""]);
    assert_eq!(check(&two, 2), Ok(()));
    assert_eq!(check(&two, 1), Err(Malformed::TooMany { found: 2, expected: 1 }));
    assert_eq!(check(&two, 4), Err(Malformed::TooFew { found: 2, expected: 4 }));
    assert_eq!(check(&[], 0), Ok(()));
    assert_eq!(check(&[0; 4], 0), Err(Malformed::TooMany { found: 1, expected: 0 }));
}

#[test]
fn broken_strings_are_told_by_what_is_there() {
    assert_eq!(check(&encoded(&[b"ab"])[..3], 1), Err(Malformed::IncompleteLength { available: 3 }));
    assert_eq!(check(&encoded(&[b"ab"])[..5], 1), Err(Malformed::TooFew { found: 0, expected: 1 }));
    assert_eq!(check(&[0xff; 4], 1), Err(Malformed::TooFew { found: 0, expected: 1 }));
}

proptest! {
    #[test]
    fn what_is_accepted_is_exactly_that_many_strings(
        strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..6),
        cut in 0usize..40,
    ) {
        let slices: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
        let bytes = encoded(&slices);
        let count = u64::try_from(strings.len()).unwrap();
        prop_assert_eq!(check(&bytes, count), Ok(()));
        if cut < bytes.len() {
            prop_assert!(check(&bytes[..cut], count).is_err());
        }
    }
}
