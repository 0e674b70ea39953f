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

#[test]
fn it_says_when_it_is_used_up_and_when_that_ends() {
    let mut rate = Rate::per_second(2);
    assert!(rate.allows(at(300)) && !rate.is_used_up());
    assert!(rate.allows(at(400)) && rate.is_used_up());
    assert!(!rate.allows(at(1299)));
    assert_eq!(rate.turns_at(), at(1300));
    assert!(rate.allows(rate.turns_at()));
}
