use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// The rungs and when they come, if the timer is right.
fn rungs(mut ladder: Ladder) -> Vec<(u64, Rung)> {
    let mut rungs = Vec::new();
    while let Some(due) = ladder.next_deadline() {
        while let Some(rung) = ladder.climb(due) {
            rungs.push((due.as_nanos() / 1_000_000, rung));
        }
    }
    rungs
}

#[test]
fn all_rungs_lie_under_the_one_deadline() {
    let ladder = Ladder::asked(at(1_000), at(31_000));
    assert_eq!(rungs(ladder), [(28_000, Rung::Term), (30_000, Rung::Kill), (31_000, Rung::GiveUp)]);
}

#[test]
fn when_time_is_short_the_rungs_move_together() {
    let ladder = Ladder::asked(at(0), at(4_000));
    assert_eq!(rungs(ladder), [(2_000, Rung::Term), (3_500, Rung::Kill), (4_000, Rung::GiveUp)]);
}

#[test]
fn a_process_that_would_not_listen_gets_term_at_once() {
    let ladder = Ladder::term(at(0), at(10_000));
    assert_eq!(rungs(ladder), [(0, Rung::Term), (9_000, Rung::Kill), (10_000, Rung::GiveUp)]);
}

#[test]
fn a_deadline_that_has_passed_means_kill_and_a_moment_to_go() {
    let ladder = Ladder::asked(at(5_000), at(1_000));
    assert_eq!(rungs(ladder), [(5_000, Rung::Kill), (5_250, Rung::GiveUp)]);
}

#[test]
fn killing_leaves_out_the_term_and_gives_the_kernel_time() {
    let ladder = Ladder::kill(at(0), Duration::from_millis(100));
    assert_eq!(rungs(ladder), [(100, Rung::Kill), (10_100, Rung::GiveUp)]);
}

#[test]
fn a_late_timer_skips_the_term() {
    let mut ladder = Ladder::asked(at(0), at(10_000));
    assert_eq!(ladder.climb(at(9_900)), Some(Rung::Kill));
    assert_eq!(ladder.climb(at(9_900)), None);
    assert_eq!(ladder.climb(at(10_149)), None, "the kill was late, and so is the end of the waiting");
    assert_eq!(ladder.climb(at(10_150)), Some(Rung::GiveUp));
    assert_eq!(ladder.climb(at(20_000)), None);
}

#[test]
fn a_deadline_can_come_forward_and_not_go_back() {
    let mut ladder = Ladder::asked(at(0), at(60_000));
    ladder.shorten(at(1_000), at(11_000));
    ladder.shorten(at(1_000), at(90_000));
    assert_eq!(rungs(ladder), [(8_000, Rung::Term), (10_000, Rung::Kill), (11_000, Rung::GiveUp)]);
}

#[test]
fn waiting_for_a_killed_process_can_be_cut_short() {
    let mut ladder = Ladder::kill(at(0), Duration::ZERO);
    assert_eq!(ladder.climb(at(0)), Some(Rung::Kill));
    ladder.shorten(at(1_000), at(3_000));
    assert_eq!(rungs(ladder.clone()), [(3_000, Rung::GiveUp)]);
    ladder.shorten(at(1_000), at(0));
    assert_eq!(rungs(ladder), [(1_250, Rung::GiveUp)], "but not to nothing");
}

#[test]
fn a_kill_can_be_due_before_its_time_and_the_deadline_stays() {
    let mut ladder = Ladder::asked(at(0), at(10_000));
    ladder.kill_now(at(2_000));
    assert_eq!(rungs(ladder), [(2_000, Rung::Kill), (10_000, Rung::GiveUp)]);
}
