//! Two real processes: the handshake, fds and memory that pass between them, and how each learns of the other's end.
#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

#[path = "support/roles.rs"]
mod roles;

use nereid_ipc::{
    Channel, DataType, IpcError,
    arena::{InputArena, InputTable, OutputArena, OutputReader},
    envelope::Envelope as _,
    sys::{pidfd::PidFd, socket::wait_fd, spawn::WorkerCommand},
    version::{PROTOCOL_MAX, PROTOCOL_MIN, negotiate},
};
use nereid_proto::worker::{
    ControlToSupervisor, ControlToWorker, Execute, Executed, ExecutionToSupervisor, ExecutionToWorker, Hello,
    HelloReply, LastWords, Pong, Request, Response, Tensor, add_segment::Direction,
    control_to_supervisor::Message as FromControl, control_to_worker::Message as ToControl,
    execution_to_supervisor::Message as FromExecution, execution_to_worker::Message as ToExecution,
};
use nix::sys::signal::Signal;
use roles::{PATIENCE, Started, command, role, start};
use std::{
    fs,
    io::Read,
    os::{fd::AsFd, unix::process::ExitStatusExt},
    process, thread,
    time::Duration,
};

const ENTRY: &str = "plays_its_part_if_started_as_another_process";
const GENERATION: u64 = 7;

// === The other processes ===

#[test]
#[expect(clippy::exit, reason = "the end of the other process")]
fn plays_its_part_if_started_as_another_process() {
    let Some(role) = role() else { return };
    let (control, execution) = Channel::inherited().unwrap();
    match role.as_str() {
        "worker" => worker(control, execution),
        "supervisor" => supervisor(control),
        "deaf" => deaf(control),
        "lister" => lister(control),
        "sharer" => sharer(control),
        "parent" => parent(control),
        other => panic!("no part {other}"),
    }
    process::exit(0);
}

fn park() -> ! {
    loop {
        thread::park();
    }
}

fn say(control: &mut Channel, message: FromControl) {
    control.send(&ControlToSupervisor { generation: GENERATION, message: Some(message) }, None).unwrap();
}

fn last_words(control: &mut Channel, message: String) {
    say(control, FromControl::LastWords(LastWords { message }));
}

/// Shakes hands, then doubles every input byte until a socket ends.
fn worker(mut control: Channel, mut execution: Channel) {
    let hello: ControlToWorker = control.recv().unwrap().message;
    hello.check_generation(GENERATION).unwrap();
    let Some(ToControl::Hello(hello)) = hello.message else { panic!("no hello") };
    let reply = HelloReply {
        protocol: negotiate(hello.protocol_min, hello.protocol_max).unwrap_or_default(),
        kind: "test".to_owned(),
        ..Default::default()
    };
    say(&mut control, FromControl::Hello(reply));

    let (mut inputs, outputs) = (InputTable::new(), OutputArena::new());
    loop {
        let ready = Channel::wait_readable(&[&control, &execution], None).unwrap();
        if ready.is_readable(0) {
            match control.recv::<ControlToWorker>() {
                Err(IpcError::Closed) => return,
                other => panic!("unexpected on control: {other:?}"),
            }
        }
        let received = match execution.recv::<ExecutionToWorker>() {
            Err(IpcError::Closed) => return,
            other => other.unwrap(),
        };
        match received.message.message.unwrap() {
            ToExecution::AddSegment(add) => {
                let fd = received.fd.unwrap();
                match add.direction() {
                    Direction::Input => inputs.add_segment(add.segment, fd, add.length).unwrap(),
                    Direction::Output => outputs.add_segment(add.segment, fd, add.length).unwrap(),
                }
            }
            ToExecution::Execute(batch) => {
                batch.released.iter().for_each(|slot| outputs.release(*slot).unwrap());
                let responses = batch.requests.iter().map(|request| double(request, &inputs, &outputs));
                let executed = Executed { batch: batch.batch, responses: responses.collect(), timing: None };
                let message = Some(FromExecution::Executed(executed));
                execution.send(&ExecutionToSupervisor { generation: GENERATION, message }, None).unwrap();
            }
            other => panic!("unexpected on execution: {other:?}"),
        }
    }
}

fn double(request: &Request, inputs: &InputTable, outputs: &OutputArena) -> Response {
    let tensor = &request.inputs[0];
    let input = inputs.view(tensor).unwrap();
    let mut lease = outputs.lease(input.len() as u64).unwrap();
    for (output, input) in lease.as_mut_slice().iter_mut().zip(input.as_slice()) {
        *output = input.wrapping_mul(2);
    }
    let output = Tensor {
        name: "doubled".to_owned(),
        segment: lease.segment(),
        offset: lease.offset(),
        slot: lease.commit(),
        ..tensor.clone()
    };
    Response { ticket: request.ticket, outputs: vec![output], r#final: true, ..Default::default() }
}

/// Says that it has come this far, and nothing more.
fn deaf(mut control: Channel) {
    say(&mut control, FromControl::Pong(Pong::default()));
    park();
}

/// Starts a worker that ignores its sockets, tells its number, and waits to be killed.
fn supervisor(mut control: Channel) {
    let mut child = start(ENTRY, "deaf");
    let nonce = child.process.id().into();
    // Else it might die of its broken output, before it has begun to ignore everything.
    hear(&mut child.control);
    say(&mut control, FromControl::Pong(Pong { nonce, ..Default::default() }));
    park();
}

/// Tells which fds it has, and where they lead.
fn lister(mut control: Channel) {
    let mut fds: Vec<_> = fs::read_dir("/proc/self/fd")
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let target = fs::read_link(entry.path()).unwrap_or_default();
            format!("{} {}", entry.file_name().display(), target.display())
        })
        // The directory that is just being read.
        .filter(|line| !line.contains("/proc/"))
        .collect();
    fds.sort();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let privileges = status.lines().find(|line| line.starts_with("NoNewPrivs")).unwrap();
    let group = nix::unistd::getpgrp().as_raw();
    last_words(
        &mut control,
        format!("{}\n{privileges}\ngroup {}", fds.join("\n"), group == nix::unistd::getpid().as_raw()),
    );
}

/// Tells which fds a program has that it starts.
#[expect(clippy::disallowed_methods, reason = "what a model's code would do")]
fn sharer(mut control: Channel) {
    let listed = process::Command::new("ls").arg("/proc/self/fd").output().unwrap();
    last_words(&mut control, String::from_utf8(listed.stdout).unwrap());
}

/// Starts a process of its own without any care, tells its number, and waits.
#[expect(clippy::disallowed_methods, reason = "what a model's code would do")]
#[expect(clippy::zombie_processes, reason = "what a careless model's code would do")]
fn parent(mut control: Channel) {
    let child = process::Command::new("sleep").arg("1000").spawn().unwrap();
    say(&mut control, FromControl::Pong(Pong { nonce: child.id().into(), ..Default::default() }));
    park();
}

// === The tests ===

fn hear(control: &mut Channel) -> FromControl {
    let ready = Channel::wait_readable(&[control], Some(PATIENCE)).unwrap();
    assert!(!ready.timed_out(), "the other process says nothing");
    let message: ControlToSupervisor = control.recv().unwrap().message;
    message.check_generation(GENERATION).unwrap();
    message.message.unwrap()
}

fn hear_pid(control: &mut Channel) -> PidFd {
    match hear(control) {
        FromControl::Pong(pong) => PidFd::open(u32::try_from(pong.nonce).unwrap()).unwrap(),
        other => panic!("unexpected: {other:?}"),
    }
}

fn hear_last_words(control: &mut Channel) -> String {
    match hear(control) {
        FromControl::LastWords(words) => words.message,
        other => panic!("unexpected: {other:?}"),
    }
}

fn shake_hands(worker: &mut Started) {
    let hello = Hello {
        protocol_min: PROTOCOL_MIN,
        protocol_max: PROTOCOL_MAX,
        supervisor_version: "test".to_owned(),
        heartbeat_interval_ms: 0,
    };
    let message = Some(ToControl::Hello(hello));
    worker.control.send(&ControlToWorker { generation: GENERATION, message }, None).unwrap();
    match hear(&mut worker.control) {
        FromControl::Hello(reply) => {
            assert_eq!((reply.protocol, reply.kind.as_str()), (PROTOCOL_MAX, "test"))
        }
        other => panic!("unexpected: {other:?}"),
    }
}

fn order(worker: &mut Started, message: ToExecution, fd: Option<&dyn AsFd>) {
    let envelope = ExecutionToWorker { generation: GENERATION, message: Some(message) };
    worker.execution.send(&envelope, fd.map(AsFd::as_fd)).unwrap();
}

fn assert_ends(worker: &mut Started) -> process::ExitStatus {
    worker.process.wait_timeout(PATIENCE).unwrap().expect("the process does not end")
}

#[test]
fn tensors_pass_through_shared_memory_both_ways() {
    let mut worker = start(ENTRY, "worker");
    shake_hands(&mut worker);
    let (inputs, mut outputs) = (InputArena::new(1 << 24), OutputReader::new(1 << 24));
    let new = outputs.new_segment(4096).unwrap();
    order(&mut worker, ToExecution::AddSegment(new.message()), Some(&new));

    let mut released = Vec::new();
    for round in 1..=20_u8 {
        let (mut lease, new) = inputs.lease(4096).unwrap();
        if let Some(new) = new {
            order(&mut worker, ToExecution::AddSegment(new.message()), Some(&new));
        }
        lease.as_mut_slice().fill(round);
        let input = Tensor {
            name: "x".to_owned(),
            data_type: DataType::Uint8.number(),
            shape: vec![4096],
            segment: lease.segment(),
            offset: lease.offset(),
            length: 4096,
            slot: 0,
        };
        let request = Request { ticket: round.into(), inputs: vec![input], ..Default::default() };
        let execute = Execute { batch: round.into(), requests: vec![request], released: released.clone() };
        order(&mut worker, ToExecution::Execute(execute), None);

        let answer: ExecutionToSupervisor = worker.execution.recv().unwrap().message;
        let Some(FromExecution::Executed(mut executed)) = answer.message else { panic!("no answer") };
        let output = executed.responses.remove(0).outputs.remove(0);
        let view = outputs.take(output).unwrap();
        assert_eq!(view.name, "doubled");
        assert!(view.as_slice().iter().all(|&byte| byte == round * 2));
        released = vec![view.slot];
    }
    drop(worker.execution);
    drop(worker.control);
    assert!(worker.process.wait_timeout(PATIENCE).unwrap().unwrap().success());
}

#[test]
fn the_worker_ends_when_either_socket_does() {
    for keep_control in [true, false] {
        let mut worker = start(ENTRY, "worker");
        shake_hands(&mut worker);
        let Started { mut process, control, execution } = worker;
        let (_kept, gone) = if keep_control { (control, execution) } else { (execution, control) };
        drop(gone);
        let status = process.wait_timeout(PATIENCE).unwrap().expect("the worker does not end");
        assert!(status.success());
    }
}

#[test]
fn the_death_of_a_worker_is_the_end_of_both_sockets_and_has_a_status() {
    let mut worker = start(ENTRY, "worker");
    shake_hands(&mut worker);
    worker.process.signal_group(Signal::SIGKILL).unwrap();
    assert!(matches!(worker.control.recv::<ControlToSupervisor>(), Err(IpcError::Closed)));
    assert!(matches!(worker.execution.recv::<ExecutionToSupervisor>(), Err(IpcError::Closed)));
    assert_eq!(assert_ends(&mut worker).signal(), Some(Signal::SIGKILL as i32));
    // Its number may by now be another's.
    worker.process.signal_group(Signal::SIGKILL).unwrap();
    assert_eq!(worker.process.try_wait().unwrap().unwrap().signal(), Some(Signal::SIGKILL as i32));
}

#[test]
fn a_worker_that_ignores_its_sockets_dies_with_its_supervisor() {
    let mut supervisor = start(ENTRY, "supervisor");
    let worker = hear_pid(&mut supervisor.control);
    assert!(!wait_fd(&worker, Some(Duration::ZERO)).unwrap(), "the worker is not alive");
    // Only the supervisor: the worker is in a group of its own.
    supervisor.process.signal_group(Signal::SIGKILL).unwrap();
    assert_ends(&mut supervisor);
    assert!(wait_fd(&worker, Some(PATIENCE)).unwrap(), "the worker outlived its supervisor");
}

#[test]
fn a_worker_outlives_the_thread_that_asked_for_it() {
    let mut worker = thread::spawn(|| start(ENTRY, "worker")).join().unwrap();
    shake_hands(&mut worker);
    assert!(worker.process.try_wait().unwrap().is_none());
}

#[test]
fn a_worker_starts_with_five_fds_in_its_own_group_without_new_privileges() {
    // Some that must not be inherited, whatever their flag says.
    let file = fs::File::open("/dev/zero").unwrap();
    let _inheritable = nix::unistd::dup(&file).unwrap();
    let mut lister = start(ENTRY, "lister");
    let told = hear_last_words(&mut lister.control);
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 7, "{told}");
    assert_eq!(lines[0], "0 /dev/null");
    for (fd, kind) in [(1, "pipe"), (2, "pipe"), (3, "socket"), (4, "socket")] {
        assert!(lines[fd].starts_with(&format!("{fd} {kind}:")), "{told}");
    }
    assert_eq!(lines[5..], ["NoNewPrivs:\t1", "group true"]);
}

#[test]
fn a_program_that_a_model_starts_does_not_hold_the_sockets() {
    let mut sharer = start(ENTRY, "sharer");
    // The last is the directory that it reads.
    assert_eq!(hear_last_words(&mut sharer.control), "0\n1\n2\n3\n");
}

#[test]
fn the_rest_of_the_group_dies_with_the_worker() {
    let mut parent = start(ENTRY, "parent");
    let grandchild = hear_pid(&mut parent.control);
    // The worker alone dies, as of a crash.
    PidFd::open(parent.process.id()).unwrap().signal(Signal::SIGKILL).unwrap();
    assert_ends(&mut parent);
    assert!(wait_fd(&grandchild, Some(PATIENCE)).unwrap(), "a process of a dead worker goes on");
}

#[test]
fn dropping_a_process_kills_it() {
    let mut parent = start(ENTRY, "deaf");
    hear(&mut parent.control);
    let pidfd = PidFd::open(parent.process.id()).unwrap();
    drop(parent.process);
    assert!(wait_fd(&pidfd, Some(PATIENCE)).unwrap());
}

#[test]
fn a_program_that_does_not_exist_is_an_error_of_the_spawn() {
    // So that the numbers which the sockets get in the child are free here.
    let low: Vec<_> = (0..8).map(|_| fs::File::open("/dev/null").unwrap()).collect();
    let (mut control, their_control) = Channel::pair().unwrap();
    let (_execution, their_execution) = Channel::pair().unwrap();
    drop(low);
    let command = WorkerCommand::new("/nonexistent/nereid-worker");
    let error = command.spawn(their_control.into_fd(), their_execution.into_fd()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(matches!(control.recv::<ControlToSupervisor>(), Err(IpcError::Closed)));
}

#[test]
fn output_and_errors_come_through_pipes() {
    let (_control, their_control) = Channel::pair().unwrap();
    let (_execution, their_execution) = Channel::pair().unwrap();
    let mut command = WorkerCommand::new("sh");
    command.args(["-c", "echo $WORD; echo oops >&2; exit 3"]).env("WORD", "hello");
    let mut process = command.spawn(their_control.into_fd(), their_execution.into_fd()).unwrap();
    let mut text = [String::new(), String::new()];
    fs::File::from(process.take_stdout().unwrap()).read_to_string(&mut text[0]).unwrap();
    fs::File::from(process.take_stderr().unwrap()).read_to_string(&mut text[1]).unwrap();
    assert_eq!(text, ["hello\n", "oops\n"]);
    assert!(process.take_stdout().is_none());
    assert_eq!(process.wait_timeout(PATIENCE).unwrap().unwrap().code(), Some(3));
}

#[test]
fn a_worker_dumps_no_core() {
    let (_control, their_control) = Channel::pair().unwrap();
    let (_execution, their_execution) = Channel::pair().unwrap();
    let mut command = WorkerCommand::new("sh");
    command.args(["-c", "ulimit -S -c; kill -SEGV $$"]);
    let mut process = command.spawn(their_control.into_fd(), their_execution.into_fd()).unwrap();
    let mut text = String::new();
    fs::File::from(process.take_stdout().unwrap()).read_to_string(&mut text).unwrap();
    assert_eq!(text, "0\n", "in blocks");
    let status = process.wait_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!((status.signal(), status.core_dumped()), (Some(Signal::SIGSEGV as i32), false));
}

#[test]
fn many_workers_start_at_once_and_none_holds_anothers_socket() {
    let starters: Vec<_> = (0..6).map(|_| thread::spawn(|| start(ENTRY, "worker"))).collect();
    let mut workers: Vec<_> = starters.into_iter().map(|starter| starter.join().unwrap()).collect();
    workers.iter_mut().for_each(shake_hands);
    while let Some(mut worker) = workers.pop() {
        worker.process.signal_group(Signal::SIGKILL).unwrap();
        // If a sibling had inherited the other end, there would be no end of file.
        let ready = Channel::wait_readable(&[&worker.control], Some(PATIENCE)).unwrap();
        assert!(ready.is_readable(0));
        assert!(matches!(worker.control.recv::<ControlToSupervisor>(), Err(IpcError::Closed)));
    }
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn the_end_can_be_awaited() {
    let mut worker = start(ENTRY, "deaf");
    let early = tokio::time::timeout(Duration::from_millis(5), worker.process.exited()).await;
    assert!(early.is_err());
    worker.process.signal_group(Signal::SIGTERM).unwrap();
    let status = tokio::time::timeout(PATIENCE, worker.process.exited()).await.unwrap().unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
    assert_eq!(worker.process.exited().await.unwrap(), status);
}

#[test]
fn an_environment_can_be_cleared() {
    let (_control, their_control) = Channel::pair().unwrap();
    let (_execution, their_execution) = Channel::pair().unwrap();
    let mut plain = command(ENTRY, "worker");
    plain.env_clear().env_remove("HOME");
    assert!(plain.program().to_string_lossy().contains("two_processes"));
    // Without its part to play, the process is an ordinary test run, and ends at once.
    let mut process = plain.spawn(their_control.into_fd(), their_execution.into_fd()).unwrap();
    assert!(process.wait_timeout(PATIENCE).unwrap().unwrap().success());
}
