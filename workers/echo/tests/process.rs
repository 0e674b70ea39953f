//! The real binary, spawned as the supervisor spawns it: what only a process can show.
#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

use nereid_ipc::{
    Channel,
    sys::{spawn::WorkerCommand, worker_process::WorkerProcess},
};
use nereid_worker::{
    proto::{
        inference::{ModelConfig, ModelParameter},
        worker::{Load, Model, Stop, control_to_worker},
    },
    rig::{Ask, GENERATION, Layout, Rig},
};
use std::{
    fs::File, io::Read as _, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration,
};

const WORKER: &str = env!("CARGO_BIN_EXE_nereid-worker-echo");
/// A worker that has not ended by then never will.
const PATIENCE: Duration = Duration::from_secs(20);

fn spawn() -> (WorkerProcess, Rig) {
    let (control, worker_control) = Channel::pair().unwrap();
    let (execution, worker_execution) = Channel::pair().unwrap();
    let mut command = WorkerCommand::new(WORKER);
    command.env("NEREID_GENERATION", GENERATION.to_string()).env("NEREID_SPIN_US", "50");
    let process = command.spawn(worker_control.into_fd(), worker_execution.into_fd()).unwrap();
    let mut rig = Rig::connect(control, execution);
    let reply = rig.greet();
    assert_eq!((reply.protocol, reply.kind.as_str()), (1, "echo"));
    (process, rig)
}

fn model(parameters: &[(&str, &str)]) -> Model {
    let parameters = parameters.iter().map(|&(name, value)| {
        let value = ModelParameter { string_value: value.to_owned() };
        (name.to_owned(), value)
    });
    let config = ModelConfig {
        backend: "echo".to_owned(),
        parameters: parameters.collect(),
        ..ModelConfig::default()
    };
    Model { name: "m".to_owned(), config: Some(config), ..Model::default() }
}

fn loaded() -> (WorkerProcess, Rig) {
    let (process, mut rig) = spawn();
    rig.load(model(&[("behavior", "faults")])).unwrap();
    (process, rig)
}

fn ended(process: &mut WorkerProcess) -> ExitStatus {
    process.wait_timeout(PATIENCE).unwrap().unwrap()
}

/// How a worker ends that was commanded a fault.
fn dies_of(fault: &str) -> (ExitStatus, String) {
    let (mut process, mut rig) = loaded();
    let _sent = rig.send(vec![Ask::new().texts("X", &[1], &[fault])], Layout::Adjacent);
    let status = ended(&mut process);
    let mut told = String::new();
    File::from(process.take_stderr().unwrap()).read_to_string(&mut told).unwrap();
    (status, told)
}

#[test]
fn a_process_answers_and_stops() {
    let (mut process, mut rig) = loaded();
    for _ in 0..100 {
        let outcome = rig.execute(vec![Ask::new().int32("X", &[2], &[1, 2])]);
        assert_eq!(outcome.only(0).output("X").int32(), [1, 2]);
    }
    rig.order(control_to_worker::Message::Stop(Stop {}));
    assert_eq!(ended(&mut process).code(), Some(0));
}

#[test]
fn a_process_ends_when_the_supervisors_sockets_close() {
    let (mut process, rig) = loaded();
    drop(rig);
    assert_eq!(ended(&mut process).code(), Some(0));
}

#[test]
fn deaths_on_command_are_real() {
    assert_eq!(dies_of("exit:7").0.code(), Some(7));
    assert_eq!(dies_of("segv").0.signal(), Some(11));
    assert_eq!(dies_of("abort").0.signal(), Some(6));
    assert_eq!(dies_of("kill").0.signal(), Some(9));
    assert_eq!(dies_of("term").0.signal(), Some(15));
}

#[test]
fn a_panic_says_where_and_exits_with_101() {
    let (mut process, mut rig) = loaded();
    let _sent = rig.send(vec![Ask::new().texts("X", &[1], &["panic"])], Layout::Adjacent);
    let words = rig.last_words();
    assert!(words.starts_with("panicked in execute at workers/echo/src/faults.rs:"), "{words}");
    assert!(words.ends_with(": on command"), "{words}");
    assert_eq!(ended(&mut process).code(), Some(101));
    assert!(dies_of("panic").1.contains("on command"), "stderr has it, too");
}

#[test]
fn a_fault_while_loading_ends_the_process() {
    let (mut process, mut rig) = spawn();
    let model = model(&[("load_fault", "exit:9")]);
    rig.order(control_to_worker::Message::Load(Load { model: Some(model) }));
    assert_eq!(ended(&mut process).code(), Some(9));
}

#[test]
fn a_hanging_worker_ends_only_by_force() {
    for fault in ["spin", "sleep", "close"] {
        let (mut process, mut rig) = loaded();
        let _sent = rig.send(vec![Ask::new().texts("X", &[1], &[fault])], Layout::Adjacent);
        // It has begun: an idle worker would go with its supervisor.
        assert!(rig.log_line().message.contains("commands a fault"));
        drop(rig);
        assert_eq!(process.wait_timeout(Duration::from_millis(100)).unwrap(), None, "{fault}");
        drop(process);
    }
}

#[test]
fn a_worker_started_by_hand_says_what_is_missing() {
    let (control, worker_control) = Channel::pair().unwrap();
    let (execution, worker_execution) = Channel::pair().unwrap();
    let mut command = WorkerCommand::new(WORKER);
    command.env_remove("NEREID_GENERATION");
    let mut process = command.spawn(worker_control.into_fd(), worker_execution.into_fd()).unwrap();
    assert_eq!(ended(&mut process).code(), Some(2));
    let mut told = String::new();
    File::from(process.take_stderr().unwrap()).read_to_string(&mut told).unwrap();
    assert!(told.contains("NEREID_GENERATION is not set"), "{told}");
    drop((control, execution));
}
