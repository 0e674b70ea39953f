//! Whole lives, with their times and their words.

use super::*;

fn exit_of(actions: &[Action]) -> &Action {
    actions.iter().find(|action| matches!(action, Action::ReportExit { .. })).expect("an exit was reported")
}

#[test]
fn a_worker_is_greeted_described_loaded_and_up() {
    let mut bench = Bench::new(InstanceConfig { describe_first: true, ..InstanceConfig::default() });
    assert_eq!(bench.on(Event::Start), [Action::Spawn { generation: FIRST }]);
    assert_eq!(bench.hello(), [Action::SendDescribe { generation: FIRST }]);
    assert_eq!(bench.on(Event::Described { generation: FIRST }), [Action::SendLoad { generation: FIRST }]);
    assert_eq!(bench.loaded(), [Action::AnnounceUp { generation: FIRST }]);
    assert_eq!(bench.instance.next_deadline(), None, "a ready worker is not timed");
    bench.exited(ExitCause::Code(0));
    assert_eq!(bench.hello(), [Action::SendLoad { generation: Generation(2) }], "described once only");
}

#[test]
fn a_worker_that_says_nothing_fails_the_load() {
    let mut bench = Bench::new(InstanceConfig::default());
    bench.on(Event::Start);
    assert_eq!(bench.expire_after(30_000), [Action::Kill { generation: FIRST }]);
    let actions = bench.exited(ExitCause::Signal(9));
    let reason = "worker did not report within 30s of its start".to_owned();
    assert_eq!(actions.last(), Some(&Action::ReportLoadFailed { reason }));
}

#[test]
fn a_load_that_never_ends_fails() {
    let mut bench = Bench::new(InstanceConfig { describe_first: true, ..InstanceConfig::default() });
    bench.on(Event::Start);
    bench.pass(secs(20));
    bench.hello();
    bench.pass(secs(100));
    bench.on(Event::Described { generation: FIRST });
    assert_eq!(bench.expire_after(500_000), [Action::Kill { generation: FIRST }], "one time for both");
    let actions = bench.exited(ExitCause::Signal(9));
    let cause = ExitCause::LoadTimeout(secs(600));
    assert_eq!(
        exit_of(&actions),
        &Action::ReportExit { generation: FIRST, cause, age: secs(620), expected: false }
    );
    let reason = "worker did not load the model within 600s".to_owned();
    assert_eq!(actions.last(), Some(&Action::ReportLoadFailed { reason }));
    assert_eq!(bench.instance.next_deadline(), None, "no second try");
}

#[test]
fn a_worker_that_dies_while_loading_fails_the_load_with_the_cause() {
    let mut bench = Bench::loading(InstanceConfig::default());
    let actions = bench.exited(ExitCause::Code(1));
    let reason = "worker exited with code 1 while loading the model".to_owned();
    assert_eq!(actions.last(), Some(&Action::ReportLoadFailed { reason }));
    assert_eq!(bench.instance.last_exit(), Some(&ExitCause::Code(1)));
}

#[test]
fn a_model_that_cannot_be_loaded_is_reported_in_its_own_words_once_the_worker_is_gone() {
    let mut bench = Bench::loading(InstanceConfig::default());
    let reason = "no such file".to_owned();
    let failed = bench.on(Event::LoadFailed { generation: FIRST, reason: reason.clone() });
    assert_eq!(failed, [Action::SendStop { generation: FIRST }]);
    let actions = bench.exited(ExitCause::Code(0));
    assert_eq!(actions.last(), Some(&Action::ReportLoadFailed { reason }));
}

#[test]
fn a_load_that_failed_can_be_tried_again_by_an_operator() {
    let mut bench = Bench::loading(InstanceConfig { describe_first: true, ..InstanceConfig::default() });
    bench.exited(ExitCause::Code(1));
    assert_eq!(bench.on(Event::Reset), [Action::Spawn { generation: Generation(2) }]);
    assert_eq!(bench.hello(), [Action::SendDescribe { generation: Generation(2) }], "nobody knows it yet");
}

#[test]
fn a_process_that_cannot_be_started_fails_the_load() {
    let mut bench = Bench::new(InstanceConfig::default());
    bench.on(Event::Start);
    let actions = bench.on(Event::SpawnFailed { generation: FIRST, error: "no such program".to_owned() });
    let reason = "worker could not be started: no such program".to_owned();
    assert_eq!(actions.last(), Some(&Action::ReportLoadFailed { reason }));
}

#[test]
fn a_worker_that_dies_is_restarted_at_once_and_then_ever_later() {
    let restart = RestartPolicy { deaths_max: 4, ..RestartPolicy::default() };
    let mut bench = Bench::ready(InstanceConfig { restart, ..InstanceConfig::default() });
    let cause = ExitCause::Signal(11);
    assert_eq!(
        bench.exited(cause.clone()),
        [
            Action::AnnounceDown { generation: FIRST, cause: cause.clone() },
            Action::ReportExit {
                generation: FIRST,
                cause: cause.clone(),
                age: Duration::ZERO,
                expected: false
            },
            Action::ReportBackoff { delay: Duration::ZERO },
            Action::Spawn { generation: Generation(2) },
        ]
    );
    let mut delays = Vec::new();
    for generation in 3..=4 {
        bench.exited(cause.clone());
        let due = bench.instance.next_deadline().expect("a restart is due");
        delays.push(due - bench.now);
        bench.now = due;
        bench.instance.expire(due);
        assert_eq!(bench.actions(), [Action::Spawn { generation: Generation(generation) }]);
    }
    assert!(delays[0] < delays[1], "{delays:?}");
    let actions = bench.exited(cause);
    let Some(Action::ReportFailed { reason }) = actions.last() else { panic!("{actions:?}") };
    assert_eq!(
        reason,
        "worker died 4 times within 60s and is not started again before the server is; last it was killed by signal \
         11 (SIGSEGV)"
    );
    assert_eq!((bench.instance.state(), bench.instance.restarts()), (State::Failed, 3));
    assert_eq!(bench.on(Event::Reset), [Action::Spawn { generation: Generation(5) }]);
}

#[test]
fn a_healthy_life_wipes_the_slate() {
    let mut bench = Bench::ready(InstanceConfig::default());
    for generation in 2..20 {
        bench.pass(secs(60));
        let actions = bench.exited(ExitCause::Signal(9));
        assert_eq!(actions.last(), Some(&Action::Spawn { generation: Generation(generation) }));
        bench.hello();
        bench.loaded();
    }
}

#[test]
fn a_worker_that_closes_its_sockets_has_a_moment_to_show_how_it_ends() {
    let mut bench = Bench::ready(InstanceConfig::default());
    let disconnected = bench.on(Event::Disconnected { generation: FIRST });
    assert_eq!(disconnected, [Action::AnnounceDraining { generation: FIRST }]);
    bench.pass(Duration::from_millis(5));
    let actions = bench.exited(ExitCause::Signal(9));
    let cause = ExitCause::Signal(9);
    assert_eq!(actions[0], Action::AnnounceDown { generation: FIRST, cause });
}

#[test]
fn a_worker_that_closes_its_sockets_and_stays_is_killed() {
    let mut bench = Bench::ready(InstanceConfig::default());
    bench.on(Event::Disconnected { generation: FIRST });
    let cause = ExitCause::ProtocolError("closed its connection without exiting".to_owned());
    assert_eq!(
        bench.expire_after(100),
        [
            Action::Kill { generation: FIRST },
            Action::AnnounceDown { generation: FIRST, cause: cause.clone() }
        ]
    );
    let actions = bench.exited(ExitCause::Signal(9));
    assert!(matches!(exit_of(&actions), Action::ReportExit { cause: known, .. } if *known == cause));
}

#[test]
fn a_condemned_worker_loses_its_work_at_once_and_the_reason_is_kept() {
    let mut bench = Bench::ready(InstanceConfig::default());
    let cause = ExitCause::KilledBy("no progress for 5s".to_owned());
    let actions = bench.on(Event::Condemn { generation: FIRST, reason: "no progress for 5s".to_owned() });
    assert_eq!(
        actions,
        [
            Action::Kill { generation: FIRST },
            Action::AnnounceDown { generation: FIRST, cause: cause.clone() }
        ]
    );
    bench.exited(ExitCause::Signal(9));
    assert_eq!(bench.instance.last_exit(), Some(&cause));
}

#[test]
fn words_at_the_wrong_time_are_fatal() {
    let mut bench = Bench::ready(InstanceConfig::default());
    let actions = bench.on(Event::Hello { generation: FIRST });
    let cause = ExitCause::ProtocolError("said Hello while READY".to_owned());
    assert_eq!(actions[1], Action::AnnounceDown { generation: FIRST, cause });
}

#[test]
fn a_worker_that_stops_when_asked_is_an_expected_end() {
    let mut bench = Bench::ready(InstanceConfig::default());
    let stop = [Action::AnnounceDraining { generation: FIRST }, Action::SendStop { generation: FIRST }];
    assert_eq!(bench.stop_within(secs(10)), stop);
    bench.pass(secs(1));
    let cause = ExitCause::Code(0);
    assert_eq!(
        bench.exited(cause.clone()),
        [
            Action::AnnounceDown { generation: FIRST, cause: cause.clone() },
            Action::ReportExit { generation: FIRST, cause, age: secs(1), expected: true },
            Action::ReportStopped,
        ]
    );
}

#[test]
fn a_worker_that_does_not_stop_is_terminated_killed_and_given_up_by_the_deadline() {
    let mut bench = Bench::ready(InstanceConfig::default());
    bench.stop_within(secs(10));
    assert_eq!(bench.expire_after(7_000), [Action::Term { generation: FIRST }]);
    let cause = ExitCause::KilledBy("it did not stop within its time".to_owned());
    assert_eq!(
        bench.expire_after(2_000),
        [Action::Kill { generation: FIRST }, Action::AnnounceDown { generation: FIRST, cause }]
    );
    let cause = ExitCause::Undead(secs(1));
    assert_eq!(
        bench.expire_after(1_000),
        [
            Action::Abandon { generation: FIRST },
            Action::ReportExit { generation: FIRST, cause, age: secs(10), expected: true },
            Action::ReportStopped,
        ]
    );
}

#[test]
fn a_second_stop_brings_the_deadline_forward() {
    let mut bench = Bench::ready(InstanceConfig::default());
    bench.stop_within(secs(60));
    assert_eq!(bench.stop_within(secs(100)), [], "and never puts it back");
    let actions = bench.stop_within(Duration::ZERO);
    assert_eq!(actions[0], Action::Kill { generation: FIRST });
    assert_eq!(bench.expire_after(250)[0], Action::Abandon { generation: FIRST });
}

#[test]
fn a_stop_while_loading_does_not_wait_for_the_load() {
    let mut bench = Bench::loading(InstanceConfig::default());
    assert_eq!(bench.stop_within(secs(10)), [Action::Term { generation: FIRST }]);
    let actions = bench.exited(ExitCause::Signal(15));
    assert_eq!(actions.last(), Some(&Action::ReportStopped), "and is no failed load");
}

#[test]
fn a_stop_of_a_dying_worker_lets_no_other_follow() {
    let mut bench = Bench::ready(InstanceConfig::default());
    bench.on(Event::Condemn { generation: FIRST, reason: "test".to_owned() });
    assert_eq!(bench.stop_within(secs(1)), []);
    assert_eq!(bench.exited(ExitCause::Signal(9)).last(), Some(&Action::ReportStopped));
}

#[test]
fn a_worker_that_cannot_be_killed_is_not_replaced() {
    let mut bench = Bench::ready(InstanceConfig::default());
    bench.on(Event::Condemn { generation: FIRST, reason: "test".to_owned() });
    let actions = bench.expire_after(10_000);
    assert_eq!(actions[0], Action::Abandon { generation: FIRST });
    let reason = "worker still exists 10s after SIGKILL".to_owned();
    assert_eq!(actions.last(), Some(&Action::ReportFailed { reason }));
    assert_eq!(bench.exited(ExitCause::Signal(9)), [], "even if it goes after all");
    assert_eq!(bench.on(Event::Reset), [Action::Spawn { generation: Generation(2) }]);
}
