use super::*;
use nereid_proto::worker::heartbeat::Stage;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(20);

fn next(supervisor: &mut Channel) -> ControlToSupervisor {
    let ready = Channel::wait_readable(&[&*supervisor], Some(PATIENCE)).expect("poll");
    assert!(!ready.timed_out(), "no heartbeat");
    supervisor.recv().expect("a frame").message
}

#[test]
fn a_full_socket_costs_a_beat_and_no_time() {
    let (mut supervisor, mut control) = Channel::pair().expect("a socket pair");
    let progress = Progress::default();
    let mut sent = 0_u32;
    let full = loop {
        match beat(&mut control, 7, &progress) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, IpcError::Full), "{full}");
    for _ in 0..sent {
        assert_eq!(next(&mut supervisor).generation, 7);
    }
    beat(&mut control, 7, &progress).expect("room again");
}

#[test]
fn a_thread_that_meets_a_full_socket_goes_on_when_there_is_room() {
    let (mut supervisor, mut control) = Channel::pair().expect("a socket pair");
    let progress = Progress::default();
    while beat(&mut control, 1, &progress).is_ok() {}
    let heart = Heart::start(&control, 2, progress.clone(), Duration::from_millis(1)).expect("a thread");
    progress.enter(Stage::Execute);
    let begin = Instant::now();
    while next(&mut supervisor).generation != 2 {
        assert!(begin.elapsed() < PATIENCE, "only old beats");
    }
    drop(heart);
}

#[test]
fn nothing_of_it_is_left_when_it_is_dropped() {
    let (mut supervisor, control) = Channel::pair().expect("a socket pair");
    let heart = Heart::start(&control, 1, Progress::default(), Duration::from_secs(3600)).expect("a thread");
    next(&mut supervisor);
    drop((heart, control));
    let ended = supervisor.recv::<ControlToSupervisor>();
    assert!(matches!(ended, Err(IpcError::Closed)), "somebody holds the socket: {ended:?}");
}
