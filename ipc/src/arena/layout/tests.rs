use super::{ALIGNMENT, MAX_SEGMENT, MIN_SEGMENT, align_up, next_segment};
use proptest::prelude::*;

const MIB: u64 = 1024 * 1024;

#[test]
fn offsets_are_rounded_up_to_the_alignment() {
    assert_eq!(align_up(0), Some(0));
    assert_eq!(align_up(1), Some(ALIGNMENT));
    assert_eq!(align_up(ALIGNMENT), Some(ALIGNMENT));
    assert_eq!(align_up(u64::MAX), None);
}

#[test]
fn the_first_segment_is_small_and_the_next_ones_double() {
    assert_eq!(next_segment(10, 0, 0, 1024 * MIB), Some(MIN_SEGMENT));
    assert_eq!(next_segment(10, MIB, MIB, 1024 * MIB), Some(2 * MIB));
    assert_eq!(next_segment(10, 2 * MIB, 3 * MIB, 1024 * MIB), Some(4 * MIB));
}

#[test]
fn a_large_need_is_met_at_once() {
    assert_eq!(next_segment(5 * MIB + 1, MIB, MIB, 1024 * MIB), Some(6 * MIB));
}

#[test]
fn the_limit_cuts_the_growth_but_not_the_need() {
    assert_eq!(next_segment(10, 4 * MIB, 7 * MIB, 8 * MIB), Some(MIB));
    assert_eq!(next_segment(MIB, 4 * MIB, 7 * MIB, 8 * MIB), Some(MIB));
    assert_eq!(next_segment(MIB + 1, 4 * MIB, 7 * MIB, 8 * MIB), None);
    assert_eq!(next_segment(1, 0, 9, 8), None);
}

#[test]
fn a_need_without_end_is_refused() {
    for needed in [u64::MAX, u64::MAX - 63, MAX_SEGMENT + 1] {
        assert_eq!(next_segment(needed, 0, 0, u64::MAX), None, "{needed}");
    }
}

proptest! {
    #[test]
    fn a_segment_meets_the_need_and_keeps_the_limit(
        needed in prop_oneof![0..4 * MIB, any::<u64>()],
        last in 0..64 * MIB,
        mapped in 0..64 * MIB,
        limit in prop_oneof![0..128 * MIB, any::<u64>()],
    ) {
        match next_segment(needed, last, mapped, limit) {
            Some(length) => {
                prop_assert!(length >= needed && length > 0 && length % ALIGNMENT == 0);
                prop_assert!(mapped + length <= limit && length <= MAX_SEGMENT);
            }
            None => {
                let least = u128::from(needed.max(1)).next_multiple_of(64);
                prop_assert!(u128::from(mapped) + least > u128::from(limit) || needed > MAX_SEGMENT);
            }
        }
    }
}
