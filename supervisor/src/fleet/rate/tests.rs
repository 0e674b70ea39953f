use super::*;

fn at(millis: u64) -> Instant {
    Instant::default() + Duration::from_millis(millis)
}

#[test]
fn what_is_over_the_limit_is_refused_until_the_second_is_over() {
    let mut rate = Rate::per_second(2);
    let allowed: Vec<bool> = [5000, 5001, 5002, 5999, 6000, 6001, 6002].map(|ms| rate.allows(at(ms))).into();
    assert_eq!(allowed, [true, true, false, false, true, true, false]);
}

#[test]
fn a_pace_below_the_limit_is_never_refused() {
    let mut rate = Rate::per_second(3);
    assert!((0..1000).all(|step| rate.allows(at(step * 400))));
}
