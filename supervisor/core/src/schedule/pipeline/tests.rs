//! How deep, after what.

use proptest::prelude::*;

use super::*;

fn after(times: impl IntoIterator<Item = Duration>) -> u32 {
    let mut pipeline = Pipeline::default();
    for time in times {
        pipeline.observe(time);
    }
    pipeline.depth()
}

#[test]
fn nothing_is_given_ahead_before_the_worker_is_known() {
    assert_eq!(after([Duration::from_nanos(1); 15]), 1);
    assert_eq!(after([Duration::from_nanos(1); 16]), DEPTH_MAX);
}

#[test]
fn a_slow_model_gets_one_batch_at_a_time() {
    assert_eq!(after([Duration::from_micros(201); 100]), 1);
    assert_eq!(after([Duration::from_micros(200); 100]), 2);
    assert_eq!(after([Duration::from_micros(50); 100]), 5);
}

#[test]
fn one_slow_batch_counts_at_once_and_fades_slowly() {
    let mut pipeline = Pipeline::default();
    for _ in 0..100 {
        pipeline.observe(Duration::from_micros(5));
    }
    assert_eq!(pipeline.observe(Duration::from_millis(1)), Some(1));
    let until_ahead_again =
        (0..1000).take_while(|_| pipeline.observe(Duration::from_micros(5)).is_none()).count();
    assert!((50..200).contains(&until_ahead_again), "{until_ahead_again}");
}

proptest! {
    #[test]
    fn what_is_held_ahead_is_bounded_in_number_and_in_time(nanos in 0_u64..10_000_000) {
        let depth = after([Duration::from_nanos(nanos); 20]);
        prop_assert!((1..=DEPTH_MAX).contains(&depth));
        prop_assert!(Duration::from_nanos(nanos) * (depth - 1) <= HELD_MAX);
    }
}
