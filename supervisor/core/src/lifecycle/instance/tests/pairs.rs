//! Every state meets every event. What changes anything is in the table; whatever is not in it changes nothing.

use super::*;

/// State, event, the state that follows, and the names of the actions.
const TABLE: &str = "
New Start -> Starting(Handshake): Spawn
New Stop -> Stopped: ReportStopped

Handshake SpawnFailed -> Failed: ReportExit ReportLoadFailed
Handshake Hello -> Starting(Loading): SendLoad
Handshake Described -> Dying: Kill
Handshake Loaded -> Dying: Kill
Handshake LoadFailed -> Draining: SendStop
Handshake Misbehaved -> Dying: Kill
Handshake Disconnected -> Dying:
Handshake Condemn -> Dying: Kill
Handshake Exited -> Failed: ReportExit ReportLoadFailed
Handshake Stop -> Draining: Term

Describing SpawnFailed -> Failed: ReportExit ReportLoadFailed
Describing Hello -> Dying: Kill
Describing Described -> Starting(Loading): SendLoad
Describing Loaded -> Dying: Kill
Describing LoadFailed -> Draining: SendStop
Describing Misbehaved -> Dying: Kill
Describing Disconnected -> Dying:
Describing Condemn -> Dying: Kill
Describing Exited -> Failed: ReportExit ReportLoadFailed
Describing Stop -> Draining: Term

Loading SpawnFailed -> Failed: ReportExit ReportLoadFailed
Loading Hello -> Dying: Kill
Loading Described -> Dying: Kill
Loading Loaded -> Ready: AnnounceUp
Loading LoadFailed -> Draining: SendStop
Loading Misbehaved -> Dying: Kill
Loading Disconnected -> Dying:
Loading Condemn -> Dying: Kill
Loading Exited -> Failed: ReportExit ReportLoadFailed
Loading Stop -> Draining: Term

Reloading SpawnFailed -> Backoff: ReportExit ReportBackoff
Reloading Hello -> Dying: Kill
Reloading Described -> Dying: Kill
Reloading Loaded -> Ready: AnnounceUp
Reloading LoadFailed -> Draining: SendStop
Reloading Misbehaved -> Dying: Kill
Reloading Disconnected -> Dying:
Reloading Condemn -> Dying: Kill
Reloading Exited -> Backoff: ReportExit ReportBackoff
Reloading Stop -> Draining: Term

Ready Hello -> Dying: Kill AnnounceDown
Ready Described -> Dying: Kill AnnounceDown
Ready Loaded -> Dying: Kill AnnounceDown
Ready LoadFailed -> Dying: Kill AnnounceDown
Ready Misbehaved -> Dying: Kill AnnounceDown
Ready Disconnected -> Dying: AnnounceDraining
Ready Condemn -> Dying: Kill AnnounceDown
Ready Exited -> Starting(Handshake): AnnounceDown ReportExit ReportBackoff Spawn
Ready Stop -> Draining: AnnounceDraining SendStop

Draining SpawnFailed -> Stopped: AnnounceDown ReportExit ReportStopped
Draining Misbehaved -> Dying: Kill AnnounceDown
Draining Condemn -> Dying: Kill AnnounceDown
Draining Exited -> Stopped: AnnounceDown ReportExit ReportStopped

LoadFailing SpawnFailed -> Failed: ReportExit ReportLoadFailed
LoadFailing Misbehaved -> Dying: Kill
LoadFailing Condemn -> Dying: Kill
LoadFailing Exited -> Failed: ReportExit ReportLoadFailed

Disconnected SpawnFailed -> Starting(Handshake): AnnounceDown ReportExit ReportBackoff Spawn
Disconnected Exited -> Starting(Handshake): AnnounceDown ReportExit ReportBackoff Spawn

Dying SpawnFailed -> Starting(Handshake): ReportExit ReportBackoff Spawn
Dying Exited -> Starting(Handshake): ReportExit ReportBackoff Spawn

Backoff Stop -> Stopped: ReportStopped
Backoff Reset -> Starting(Handshake): Spawn

Failed Stop -> Stopped: ReportStopped
Failed Reset -> Starting(Handshake): Spawn
";

const SITUATIONS: [&str; 14] = [
    "New",
    "Handshake",
    "Describing",
    "Loading",
    "Reloading",
    "Ready",
    "Draining",
    "LoadFailing",
    "Disconnected",
    "Dying",
    "Backoff",
    "Failed",
    "Stopped",
    "Undead",
];

/// An instance in that state.
fn situation(name: &str) -> Bench {
    let usual = InstanceConfig::default;
    let restart = |deaths_max| RestartPolicy { deaths_max, ..RestartPolicy::default() };
    let mut bench = match name {
        "New" | "Stopped" | "Handshake" => Bench::new(usual()),
        "Describing" => Bench::loading(InstanceConfig { describe_first: true, ..usual() }),
        "Loading" | "LoadFailing" => Bench::loading(usual()),
        "Failed" => Bench::ready(InstanceConfig { restart: restart(1), ..usual() }),
        _ => Bench::ready(usual()),
    };
    let generation = bench.generation();
    match name {
        "Handshake" => drop(bench.on(Event::Start)),
        "Stopped" | "Draining" => drop(bench.stop_within(secs(10))),
        "LoadFailing" => drop(bench.on(Event::LoadFailed { generation, reason: String::new() })),
        "Disconnected" => drop(bench.on(Event::Disconnected { generation })),
        "Dying" | "Undead" => drop(bench.on(Event::Condemn { generation, reason: String::new() })),
        "Failed" => drop(bench.exited(ExitCause::Signal(9))),
        "Reloading" | "Backoff" => {
            bench.exited(ExitCause::Signal(9));
            bench.hello();
        }
        _ => {}
    }
    match name {
        "Backoff" => drop(bench.exited(ExitCause::Signal(9))),
        "Undead" => {
            bench.expire_after(10_000);
            bench.stop_within(secs(1));
        }
        _ => {}
    }
    bench
}

fn events(bench: &Bench) -> [(&'static str, Event); 12] {
    let generation = bench.generation();
    let reason = String::new;
    [
        ("Start", Event::Start),
        ("SpawnFailed", Event::SpawnFailed { generation, error: reason() }),
        ("Hello", Event::Hello { generation }),
        ("Described", Event::Described { generation }),
        ("Loaded", Event::Loaded { generation }),
        ("LoadFailed", Event::LoadFailed { generation, reason: reason() }),
        ("Misbehaved", Event::Misbehaved { generation, what: reason() }),
        ("Disconnected", Event::Disconnected { generation }),
        ("Condemn", Event::Condemn { generation, reason: reason() }),
        ("Exited", Event::Exited { generation, cause: ExitCause::Code(3) }),
        ("Stop", Event::Stop { deadline: bench.now + secs(10) }),
        ("Reset", Event::Reset),
    ]
}

fn name_of(action: &Action) -> String {
    format!("{action:?}").split(' ').next().unwrap_or_default().to_owned()
}

/// One line of the table, or nothing when nothing changes.
fn outcome(situation_name: &str, event_name: &str, event: Event) -> Option<String> {
    let mut bench = situation(situation_name);
    let before = bench.instance.state();
    let actions: Vec<String> = bench.on(event).iter().map(name_of).collect();
    let after = bench.instance.state();
    if before == after && actions.is_empty() {
        return None;
    }
    let line = format!("{situation_name} {event_name} -> {after:?}: {}", actions.join(" "));
    Some(line.trim_end().to_owned())
}

#[test]
fn every_event_in_every_state_does_what_the_table_says() {
    let mut lines = Vec::new();
    for name in SITUATIONS {
        let bench = situation(name);
        for (event_name, event) in events(&bench) {
            lines.extend(outcome(name, event_name, event));
        }
    }
    let table: Vec<&str> = TABLE.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.join("\n"), table.join("\n"));
}

#[test]
fn what_is_said_about_an_earlier_life_changes_nothing() {
    for name in SITUATIONS {
        let stale = Bench { instance: situation("New").instance, now: at(0) };
        for (event_name, event) in events(&stale) {
            if !matches!(event, Event::Start | Event::Stop { .. } | Event::Reset)
                && name != "New"
                && name != "Stopped"
            {
                assert_eq!(outcome(name, event_name, event), None, "{event_name} of generation 0");
            }
        }
    }
}

#[test]
fn a_timer_that_fires_early_changes_nothing() {
    for name in SITUATIONS {
        let mut bench = situation(name);
        let before = bench.instance.state();
        bench.instance.expire(bench.now);
        assert_eq!((bench.instance.state(), bench.actions()), (before, vec![]), "{name}");
    }
}
