use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn policy(deaths_max: u32) -> RestartPolicy {
    RestartPolicy { deaths_max, ..RestartPolicy::default() }
}

/// The delays of that many deaths, each at the end of a short life.
fn delays(policy: RestartPolicy, seed: u64, deaths: u64) -> Vec<Duration> {
    let mut restarts = Restarts::new(policy, seed);
    let delay = |death| match restarts.died(at(death), Duration::ZERO) {
        Verdict::RestartAfter(delay) => delay,
        Verdict::GiveUp => panic!("given up at death {death}"),
    };
    (0..deaths).map(delay).collect()
}

#[test]
fn the_first_restart_is_immediate_and_the_next_ones_double_up_to_the_limit() {
    for seed in 0..50 {
        let delays = delays(policy(u32::MAX), seed, 40);
        assert_eq!(delays[0], Duration::ZERO);
        let mut full = Duration::from_millis(100);
        for delay in &delays[1..] {
            assert!(*delay <= full && *delay >= full * 3 / 4, "seed {seed}: {delay:?} for {full:?}");
            full = (full * 2).min(Duration::from_secs(10));
        }
    }
}

#[test]
fn delays_grow_in_spite_of_the_jitter() {
    for seed in 0..50 {
        let delays = delays(policy(u32::MAX), seed, 8);
        assert!(delays.is_sorted(), "seed {seed}: {delays:?}");
    }
}

#[test]
fn the_seed_decides_the_jitter() {
    assert_eq!(delays(policy(9), 7, 6), delays(policy(9), 7, 6));
    assert_ne!(delays(policy(9), 7, 6), delays(policy(9), 8, 6));
}

#[test]
fn the_last_death_of_the_budget_is_one_too_many() {
    let mut restarts = Restarts::new(policy(3), 0);
    assert!(matches!(restarts.died(at(0), Duration::ZERO), Verdict::RestartAfter(_)));
    assert!(matches!(restarts.died(at(1), Duration::ZERO), Verdict::RestartAfter(_)));
    assert_eq!(restarts.died(at(59_999), Duration::ZERO), Verdict::GiveUp);
}

#[test]
fn a_death_outside_the_window_does_not_count() {
    let mut restarts = Restarts::new(policy(3), 0);
    restarts.died(at(0), Duration::ZERO);
    restarts.died(at(1), Duration::ZERO);
    assert!(matches!(restarts.died(at(60_000), Duration::ZERO), Verdict::RestartAfter(_)));
    assert_eq!(restarts.died(at(60_000), Duration::ZERO), Verdict::GiveUp);
}

#[test]
fn a_healthy_life_starts_over_and_a_shorter_one_does_not() {
    let mut restarts = Restarts::new(policy(9), 0);
    restarts.died(at(0), Duration::ZERO);
    let Verdict::RestartAfter(delay) = restarts.died(at(1), Duration::from_millis(59_999)) else {
        panic!("not given up")
    };
    assert!(!delay.is_zero());
    assert_eq!(restarts.died(at(2), Duration::from_secs(60)), Verdict::RestartAfter(Duration::ZERO));
}

#[test]
fn a_budget_of_one_means_no_restart() {
    for deaths_max in [0, 1] {
        assert_eq!(Restarts::new(policy(deaths_max), 0).died(at(0), Duration::ZERO), Verdict::GiveUp);
    }
}

#[test]
fn a_reset_forgets_all_deaths() {
    let mut restarts = Restarts::new(policy(2), 0);
    restarts.died(at(0), Duration::ZERO);
    restarts.reset();
    assert_eq!(restarts.died(at(1), Duration::ZERO), Verdict::RestartAfter(Duration::ZERO));
}
