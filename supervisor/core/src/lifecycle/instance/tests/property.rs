//! What holds whatever happens, in whatever order.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    /// An event about the present life, or a stale one.
    Say(u8, bool),
    Pass(u64),
    Expire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..11_u8, prop::bool::weighted(0.9)).prop_map(|(event, current)| Step::Say(event, current)),
        1 => (0..20_000_u64).prop_map(Step::Pass),
        2 => Just(Step::Expire),
    ]
}

/// What must be true of the actions, taken together.
#[derive(Debug, Default)]
struct Witness {
    last_generation: u64,
    process: bool,
    up: bool,
    stopped: bool,
}

impl Witness {
    fn see(&mut self, action: &Action) {
        assert!(!self.stopped, "{action:?} after it has stopped");
        match action {
            Action::Spawn { generation } => {
                assert!(!self.process, "a second process beside the first");
                assert_eq!(generation.0, self.last_generation + 1);
                self.last_generation = generation.0;
                self.process = true;
            }
            Action::AnnounceUp { .. } => {
                assert!(self.process && !self.up);
                self.up = true;
            }
            Action::AnnounceDraining { .. } => assert!(self.up),
            Action::AnnounceDown { .. } => {
                assert!(self.up, "down without having been up");
                self.up = false;
            }
            Action::ReportExit { .. } => {
                assert!(self.process && !self.up, "gone means down");
                self.process = false;
            }
            Action::ReportStopped => {
                assert!(!self.process);
                self.stopped = true;
            }
            Action::ReportLoadFailed { .. } | Action::ReportFailed { .. } | Action::ReportBackoff { .. } => {
                assert!(!self.process);
            }
            Action::SendDescribe { generation }
            | Action::SendLoad { generation }
            | Action::SendStop { generation }
            | Action::Term { generation }
            | Action::Kill { generation }
            | Action::Abandon { generation } => {
                assert!(self.process && generation.0 == self.last_generation);
            }
        }
    }
}

fn event(number: u8, generation: Generation) -> Event {
    match number {
        0 => Event::Start,
        1 => Event::SpawnFailed { generation, error: String::new() },
        2 => Event::Hello { generation },
        3 => Event::Described { generation },
        4 => Event::Loaded { generation },
        5 => Event::LoadFailed { generation, reason: String::new() },
        6 => Event::Misbehaved { generation, what: String::new() },
        7 => Event::Disconnected { generation },
        8 => Event::Condemn { generation, reason: String::new() },
        9 => Event::Exited { generation, cause: ExitCause::Signal(9) },
        _ => Event::Reset,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn processes_follow_one_another_and_a_stop_ends_them(steps in prop::collection::vec(step(), 0..80)) {
        let mut bench = Bench::new(InstanceConfig { describe_first: true, ..InstanceConfig::default() });
        let mut witness = Witness::default();
        bench.on(Event::Start).iter().for_each(|action| witness.see(action));
        for step in steps {
            let actions = match step {
                Step::Say(number, current) => {
                    let generation = bench.generation();
                    let stale = Generation(generation.0.saturating_sub(1));
                    let event = event(number, if current { generation } else { stale });
                    bench.on(event)
                }
                Step::Pass(millis) => {
                    bench.pass(Duration::from_millis(millis));
                    bench.instance.expire(bench.now);
                    bench.actions()
                }
                Step::Expire => {
                    bench.now = bench.instance.next_deadline().unwrap_or(bench.now).max(bench.now);
                    bench.instance.expire(bench.now);
                    bench.actions()
                }
            };
            actions.iter().for_each(|action| witness.see(action));
        }
        // Whatever it was doing and however its worker behaves, it is stopped by the deadline.
        let deadline = bench.now + secs(20);
        bench.stop_within(secs(20)).iter().for_each(|action| witness.see(action));
        while let Some(due) = bench.instance.next_deadline() {
            bench.now = due;
            bench.instance.expire(due);
            bench.actions().iter().for_each(|action| witness.see(action));
        }
        prop_assert!(witness.stopped);
        prop_assert!(bench.now <= deadline);
    }
}
