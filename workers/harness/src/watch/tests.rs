use super::{Pause, Watch};
use nereid_ipc::Channel;
use std::{
    os::fd::AsFd,
    time::{Duration, Instant},
};

#[test]
fn a_pause_lasts_as_long_as_asked() {
    let (worker, _supervisor) = Channel::pair().unwrap();
    let watch = Watch::new(worker.as_fd()).unwrap();
    let begin = Instant::now();
    assert_eq!(watch.pause(Duration::from_millis(20)), Pause::Elapsed);
    assert!(begin.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_packet_that_arrives_does_not_end_a_pause() {
    let (worker, mut supervisor) = Channel::pair().unwrap();
    let watch = Watch::new(worker.as_fd()).unwrap();
    supervisor.send(&nereid_proto::worker::ControlToWorker::default(), None).unwrap();
    assert_eq!(watch.pause(Duration::from_millis(5)), Pause::Elapsed);
}

#[test]
fn the_end_of_the_supervisor_ends_a_pause_without_limit() {
    let (worker, supervisor) = Channel::pair().unwrap();
    let watch = Watch::new(worker.as_fd()).unwrap();
    let paused = std::thread::spawn(move || watch.pause(Duration::MAX));
    drop(supervisor);
    assert_eq!(paused.join().unwrap(), Pause::SupervisorGone);
}
