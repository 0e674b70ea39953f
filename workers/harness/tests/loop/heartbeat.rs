use super::{Scripted, mirror, model};
use nereid_worker::{
    Exit,
    proto::worker::{Stop, control_to_supervisor as reply, control_to_worker as order, heartbeat::Stage},
    rig::{Ask, Layout, Rig},
};
use std::{
    sync::{Arc, Barrier},
    time::Duration,
};

const INTERVAL: Duration = Duration::from_millis(5);

fn beating(backend: Scripted) -> Rig {
    let mut rig = Rig::start_silent(backend);
    rig.greet_asking_for_heartbeats(INTERVAL);
    rig
}

#[test]
fn a_worker_that_was_not_asked_for_heartbeats_sends_none() {
    let mut rig = Scripted::mirror().loaded();
    rig.execute(vec![Ask::new().int32("A", &[1], &[1])]);
    rig.ping(1);
    assert!(rig.heartbeats.is_empty(), "{:?}", rig.heartbeats);
    assert_eq!(rig.stop(), Exit::Stopped);
}

#[test]
fn an_idle_worker_beats_and_says_since_when_it_is_idle() {
    let mut rig = beating(Scripted::mirror());
    let first = rig.heartbeat(|beat| beat.stage() == Stage::Idle);
    let later = rig.heartbeat(|beat| beat.stage_age_ms > first.stage_age_ms + 20);
    assert_eq!((later.stage(), later.batches_begun), (Stage::Idle, 0));
}

#[test]
fn a_worker_whose_loop_is_stuck_beats_and_says_where() {
    // The loop meets the test at each of these places, and goes on when it is told to.
    let meeting = Arc::new(Barrier::new(2));
    let meet = {
        let meeting = Arc::clone(&meeting);
        move || {
            meeting.wait();
            meeting.wait();
        }
    };
    let mut backend = Scripted::executing({
        let meet = meet.clone();
        move |batch| {
            meet();
            batch.mark_input_done();
            meet();
            batch.mark_infer_done();
            meet();
            mirror(batch);
        }
    });
    backend.load = Box::new({
        let meet = meet.clone();
        move |_| {
            meet();
            Ok(())
        }
    });
    backend.unload = Box::new(move |()| meet());
    let mut rig = beating(backend);
    let stuck_in = |rig: &mut Rig, stage: Stage, begun: u64| {
        meeting.wait();
        let beat = rig.heartbeat(|beat| beat.stage() == stage && beat.stage_age_ms >= 20);
        assert_eq!((beat.batches_begun, beat.batches_ended), (begun, 0));
        meeting.wait();
    };
    rig.order(order::Message::Load(nereid_worker::proto::worker::Load { model: Some(model()) }));
    stuck_in(&mut rig, Stage::Load, 0);
    assert!(matches!(rig.reply(), reply::Message::Loaded(_)));
    let sent = rig.send(vec![Ask::new().int32("A", &[1], &[1])], Layout::Adjacent);
    stuck_in(&mut rig, Stage::Input, 1);
    stuck_in(&mut rig, Stage::Execute, 1);
    stuck_in(&mut rig, Stage::Output, 1);
    rig.finish(sent);
    rig.heartbeat(|beat| beat.stage() == Stage::Idle && beat.batches_ended == 1);
    rig.order(order::Message::Stop(Stop {}));
    meeting.wait();
    rig.heartbeat(|beat| beat.stage() == Stage::Unload);
    meeting.wait();
}

#[test]
fn heartbeats_end_with_the_session() {
    let mut rig = beating(Scripted::mirror());
    rig.heartbeat(|_| true);
    rig.order(order::Message::Stop(Stop {}));
    // As long as anybody holds the worker's end, there is no end of the stream.
    while rig.control().recv::<nereid_worker::proto::worker::ControlToSupervisor>().is_ok() {}
    assert_eq!(rig.exit(), Exit::Stopped);
}

#[test]
fn a_supervisor_that_goes_ends_the_worker_although_its_heart_beats() {
    let mut rig = beating(Scripted::mirror());
    rig.heartbeat(|_| true);
    assert_eq!(rig.vanish(), Exit::SupervisorGone);
}
