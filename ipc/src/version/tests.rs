use super::{PROTOCOL_MAX, PROTOCOL_MIN, negotiate};

#[test]
fn the_highest_common_version_is_chosen() {
    assert_eq!(negotiate(PROTOCOL_MIN, PROTOCOL_MAX), Some(PROTOCOL_MAX));
    assert_eq!(negotiate(0, u32::MAX), Some(PROTOCOL_MAX));
}

#[test]
fn ranges_without_a_common_version_are_refused() {
    assert_eq!(negotiate(PROTOCOL_MAX + 1, PROTOCOL_MAX + 5), None);
    assert_eq!(negotiate(0, PROTOCOL_MIN - 1), None);
}

#[test]
fn an_inverted_range_is_refused() {
    assert_eq!(negotiate(5, 1), None);
}
