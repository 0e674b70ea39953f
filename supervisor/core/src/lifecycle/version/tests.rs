use super::*;

const A: InstanceId = InstanceId(0);
const B: InstanceId = InstanceId(1);

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn up(instance: InstanceId) -> Event {
    Event::InstanceUp { instance }
}

fn down(instance: InstanceId) -> Event {
    Event::InstanceDown { instance }
}

fn stopped(instance: InstanceId) -> Event {
    Event::InstanceStopped { instance }
}

fn failed(instance: InstanceId, reason: &str) -> Event {
    Event::InstanceFailed { instance, reason: reason.to_owned() }
}

fn load_failed(instance: InstanceId, reason: &str) -> Event {
    Event::InstanceLoadFailed { instance, reason: reason.to_owned() }
}

fn stop(instance: InstanceId, deadline: u64) -> Action {
    Action::StopInstance { instance, deadline: at(deadline) }
}

struct Bench(Version);

impl Bench {
    fn loading(config: VersionConfig) -> Self {
        let mut bench = Self(Version::new(config));
        bench.on(0, Event::Load);
        bench
    }

    /// Two instances, both up.
    fn ready() -> Self {
        let mut bench = Self::loading(VersionConfig::of(2));
        bench.on(0, up(A));
        bench.on(0, up(B));
        bench
    }

    fn on(&mut self, millis: u64, event: Event) -> Vec<Action> {
        self.0.handle(at(millis), event);
        self.actions()
    }

    fn actions(&mut self) -> Vec<Action> {
        std::iter::from_fn(|| self.0.poll()).collect()
    }

    fn state(&self) -> String {
        let state = self.0.state();
        format!("{} {}", state.as_str(), state.reason()).trim_end().to_owned()
    }
}

#[test]
fn a_version_is_loaded_when_all_its_instances_are() {
    let mut bench = Bench(Version::new(VersionConfig::of(2)));
    assert_eq!(bench.state(), "UNAVAILABLE");
    let starts = [Action::StartInstance { instance: A }, Action::StartInstance { instance: B }];
    assert_eq!(bench.on(0, Event::Load), starts);
    assert_eq!(bench.on(0, Event::Load), [], "once");
    assert_eq!(bench.on(1, up(A)), []);
    assert_eq!((bench.state().as_str(), bench.0.is_ready()), ("LOADING", false));
    assert_eq!(bench.on(2, up(B)), [Action::ReportLoaded, Action::Readiness { ready: true }]);
    assert_eq!((bench.state().as_str(), bench.0.instances()), ("READY", (2, 2)));
}

#[test]
fn an_instance_that_died_before_the_others_were_loaded_has_been_loaded() {
    let mut bench = Bench::loading(VersionConfig::of(2));
    bench.on(1, up(A));
    bench.on(2, down(A));
    assert_eq!(bench.on(3, up(B)), [Action::ReportLoaded, Action::Readiness { ready: true }]);
    assert_eq!(bench.0.instances(), (1, 2));
}

#[test]
fn it_is_ready_while_one_instance_is_up() {
    let mut bench = Bench::ready();
    assert_eq!(bench.on(1, down(A)), []);
    assert_eq!(bench.on(2, down(B)), [Action::Readiness { ready: false }]);
    assert_eq!(bench.state(), "READY", "the version is loaded all the same");
    assert_eq!(bench.on(3, up(A)), [Action::Readiness { ready: true }]);
}

#[test]
fn one_failed_load_fails_the_version_and_stops_the_others() {
    let mut bench = Bench::loading(VersionConfig::of(2));
    bench.on(0, up(A));
    assert_eq!(
        bench.on(500, load_failed(B, "no such file")),
        [
            Action::FailFast { reason: "no such file".into() },
            Action::StopScheduler,
            stop(A, 10_500),
            stop(B, 10_500)
        ]
    );
    assert_eq!(bench.on(501, stopped(B)), []);
    assert_eq!(bench.state(), "LOADING", "something of it is left");
    let reason = "no such file".to_owned();
    assert_eq!(bench.on(600, stopped(A)), [Action::ReportLoadFailed { reason }]);
    assert_eq!(bench.state(), "UNAVAILABLE no such file");
}

#[test]
fn the_first_reason_of_several_is_told() {
    let mut bench = Bench::loading(VersionConfig::of(2));
    bench.on(0, load_failed(A, "first"));
    assert_eq!(bench.on(0, load_failed(B, "second")), []);
    bench.on(0, stopped(A));
    bench.on(0, stopped(B));
    assert_eq!(bench.state(), "UNAVAILABLE first");
}

#[test]
fn an_instance_that_gives_up_while_others_load_fails_the_load() {
    let mut bench = Bench::loading(VersionConfig::of(2));
    bench.on(0, up(A));
    bench.on(0, down(A));
    bench.on(0, failed(A, "died too often"));
    bench.on(0, stopped(A));
    bench.on(0, stopped(B));
    assert_eq!(bench.state(), "UNAVAILABLE died too often");
}

#[test]
fn a_passive_instance_neither_fails_a_load_nor_makes_a_version_ready() {
    let passive = |instance, passive| Member { instance, passive };
    let config =
        VersionConfig { instances: vec![passive(A, false), passive(B, true)], ..VersionConfig::of(0) };
    let mut bench = Bench::loading(config.clone());
    assert_eq!(bench.on(0, load_failed(B, "whatever")), []);
    assert_eq!(bench.on(0, up(A)), [Action::ReportLoaded, Action::Readiness { ready: true }]);
    let mut bench = Bench::loading(config);
    bench.on(0, up(B));
    bench.on(0, up(A));
    assert_eq!(bench.on(0, down(A)), [Action::Readiness { ready: false }]);
    let reason = "gone".into();
    assert_eq!(bench.on(0, failed(A, "gone")), [Action::FailFast { reason }]);
}

#[test]
fn requests_are_refused_when_no_instance_will_come_back() {
    let mut bench = Bench::ready();
    bench.on(1, down(A));
    bench.on(1, down(B));
    assert_eq!(bench.on(2, failed(A, "died too often")), [], "the other one may come back");
    let reason = "died too often".into();
    assert_eq!(bench.on(3, failed(B, "died as well")), [Action::FailFast { reason }]);
    assert_eq!(bench.on(4, Event::InstanceStarting { instance: B }), [Action::StopFailFast]);
    assert_eq!(bench.on(5, up(B)), [Action::Readiness { ready: true }]);
    bench.on(6, down(B));
    bench.on(6, failed(B, "again"));
    let hope = [Action::Readiness { ready: true }, Action::StopFailFast];
    assert_eq!(bench.on(7, up(B)), hope, "an instance that is up cannot have failed");
}

#[test]
fn an_unload_drains_the_requests_and_then_stops_the_instances() {
    let mut bench = Bench::ready();
    let unload = bench.on(0, Event::Unload { deadline: at(60_000) });
    assert_eq!(unload, [Action::StopScheduler, Action::Readiness { ready: false }]);
    assert_eq!(bench.0.next_deadline(), Some(at(50_000)), "the instances need time too");
    assert_eq!(bench.on(2_000, Event::Drained), [stop(A, 60_000), stop(B, 60_000)]);
    assert_eq!(bench.0.next_deadline(), None);
    assert_eq!(bench.on(3_000, down(A)), []);
    assert_eq!(bench.on(3_000, stopped(A)), []);
    assert_eq!(bench.state(), "UNLOADING");
    assert_eq!(bench.on(3_000, stopped(B)), [Action::ReportUnloaded]);
    assert_eq!(bench.state(), "UNAVAILABLE unloaded");
}

#[test]
fn requests_that_do_not_drain_are_given_up() {
    let mut bench = Bench::ready();
    bench.on(0, Event::Unload { deadline: at(8_000) });
    assert_eq!(bench.0.next_deadline(), Some(at(4_000)), "half of the time, when it is short");
    bench.0.expire(at(3_999));
    assert_eq!(bench.actions(), []);
    bench.0.expire(at(4_000));
    let actions = bench.actions();
    assert!(
        matches!(&actions[..], [Action::FailFast { .. }, a, b] if *a == stop(A, 8_000) && *b == stop(B, 8_000))
    );
    assert_eq!(bench.on(4_001, Event::Drained), []);
}

#[test]
fn a_second_unload_brings_the_deadline_forward() {
    let mut bench = Bench::ready();
    bench.on(0, Event::Unload { deadline: at(60_000) });
    bench.on(1_000, Event::Unload { deadline: at(3_000) });
    assert_eq!(bench.0.next_deadline(), Some(at(2_000)));
    bench.on(1_000, Event::Unload { deadline: at(90_000) });
    assert_eq!(bench.0.next_deadline(), Some(at(2_000)), "and never puts it back");
    bench.on(1_500, Event::Drained);
    bench.on(1_600, stopped(A));
    assert_eq!(bench.on(1_700, Event::Unload { deadline: at(2_000) }), [stop(B, 2_000)]);
}

#[test]
fn an_unload_of_a_version_that_is_being_loaded_ends_the_load() {
    let mut bench = Bench::loading(VersionConfig::of(1));
    let reason = "unloaded while it was being loaded".to_owned();
    assert_eq!(
        bench.on(0, Event::Unload { deadline: at(5_000) }),
        [
            Action::FailFast { reason: reason.as_str().into() },
            Action::StopScheduler,
            Action::ReportLoadFailed { reason },
            stop(A, 5_000)
        ]
    );
    assert_eq!(bench.on(0, up(A)), [], "too late");
    assert_eq!(bench.on(0, stopped(A)), [Action::ReportUnloaded]);
}

#[test]
fn an_unload_of_a_version_that_was_never_loaded_is_done_at_once() {
    let mut bench = Bench(Version::new(VersionConfig::of(1)));
    assert_eq!(bench.on(0, Event::Unload { deadline: at(0) }), [Action::ReportUnloaded]);
    assert_eq!(bench.on(0, Event::Load), []);
}

#[test]
fn an_unload_does_not_wait_for_requests_that_nobody_can_take() {
    let mut bench = Bench::ready();
    bench.on(0, down(A));
    bench.on(0, down(B));
    bench.on(0, Event::Unload { deadline: at(60_000) });
    bench.on(1, failed(A, "gone"));
    let reason = "gone".into();
    assert_eq!(bench.on(2, failed(B, "gone too")), [Action::FailFast { reason }]);
}

#[test]
fn an_instance_that_is_not_of_this_version_changes_nothing() {
    let mut bench = Bench::ready();
    let stranger = InstanceId(9);
    for event in [up(stranger), down(stranger), failed(stranger, "x"), stopped(stranger)] {
        assert_eq!(bench.on(0, event), []);
    }
}
