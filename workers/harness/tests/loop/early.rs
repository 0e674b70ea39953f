//! Workers that are started before it is known what for.

use super::{Scripted, model};
use nereid_worker::{
    Exit, WorkerError,
    proto::worker::{
        ControlToSupervisor, Hello, Model, Ping, Stop, control_to_supervisor as reply,
        control_to_worker as order, heartbeat::Stage,
    },
    rig::{Ask, GENERATION, Rig},
};
use std::time::Duration;

fn hello() -> order::Message {
    order::Message::Hello(Hello { protocol_min: 1, protocol_max: 1, ..Hello::default() })
}

/// One that has said that it is ready.
fn waiting(backend: Scripted) -> Rig {
    let mut rig = Rig::start_early(backend);
    rig.order_as(0, hello());
    let frame = rig.control().recv::<ControlToSupervisor>().unwrap().message;
    assert_eq!(frame.generation, 0);
    assert!(matches!(frame.message, Some(reply::Message::Hello(_))), "{frame:?}");
    rig
}

#[test]
fn a_worker_without_a_generation_takes_that_of_the_hello_that_names_one() {
    let mut rig = waiting(Scripted::mirror());
    // As often as it is asked.
    rig.order_as(0, hello());
    rig.control().recv::<ControlToSupervisor>().unwrap();
    rig.greet_asking_for_heartbeats(Duration::from_millis(5));
    rig.heartbeat(|beat| beat.stage() == Stage::Idle);
    rig.load(model()).unwrap();
    rig.execute(vec![Ask::new().int32("A", &[1], &[1])]);
    assert_eq!(rig.ping(3).batches_ended, 1);
    assert_eq!(rig.stop(), Exit::Stopped);
}

#[test]
fn once_it_has_one_it_keeps_it() {
    let mut rig = waiting(Scripted::mirror());
    rig.greet();
    rig.order_as(GENERATION + 1, order::Message::Ping(Ping { nonce: 1 }));
    assert!(rig.last_words().contains("generation"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn before_it_has_one_nothing_but_hello_is_understood() {
    let mut rig = waiting(Scripted::mirror());
    rig.order(order::Message::Stop(Stop {}));
    assert!(rig.last_words().contains("before Hello"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn a_supervisor_that_goes_ends_it_while_it_waits() {
    assert_eq!(waiting(Scripted::mirror()).vanish(), Exit::SupervisorGone);
}

#[test]
fn it_goes_to_its_models_folder_and_gives_up_writing_elsewhere() {
    let folder = std::env::temp_dir().join(format!("nereid-early-{}", std::process::id()));
    let (mine, other) = (folder.join("mine"), folder.join("other"));
    for folder in [&mine, &other] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let mut backend = Scripted::mirror();
    backend.load = Box::new(|_| {
        let write =
            |path: &str| std::fs::write(path, "x").map_err(|error| WorkerError::internal(error.to_string()));
        write("file")?;
        write("/dev/null")?;
        if nereid_ipc::sys::sandbox::Support::detect().landlock.is_none() {
            return Ok(());
        }
        match write("../other/file") {
            Err(error) if error.to_string().contains("denied") => Ok(()),
            other => Err(WorkerError::internal(format!("not refused: {other:?}"))),
        }
    });
    let mut rig = waiting(backend);
    rig.greet();
    let told = mine.display().to_string();
    let loaded = rig.load(Model { working_directory: told.clone(), writable: vec![told], ..model() });
    let is_there = mine.join("file").exists();
    std::fs::remove_dir_all(&folder).unwrap();
    loaded.unwrap();
    assert!(is_there);
}

#[test]
fn a_worker_that_knows_its_generation_stays_where_it_was_started() {
    let mut rig = Rig::start(Scripted::mirror());
    let nowhere = "/no/such/folder".to_owned();
    rig.load(Model { working_directory: nowhere.clone(), writable: vec![nowhere], ..model() }).unwrap();
}
