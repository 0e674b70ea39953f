//! What outlives whom: no worker its supervisor, idle or busy; no process of a model's its worker, however it has tried;
//! and nothing is left in `/dev/shm`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use harness::faults::{await_generation, await_workers, children, is_running};
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

#[test]
fn killing_the_supervisor_leaves_no_worker_and_no_shared_memory() {
    let before = shared_memory();
    let repository = Repository::new();
    repository.add_echo("echo", 3, "");
    repository.add_python("busy", 1, "time.sleep(value)\nreturn value");
    let mut server = Server::start(repository);
    await_workers(&server, "echo", 3);
    await_workers(&server, "busy", 1);
    echo(&mut server.client(), "echo", &[1.0]).expect("an answer");
    let body = br#"{"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [60]}]}"#;
    server.client().send("POST", "/v2/models/busy/infer", &[], body).expect("sent");

    let workers = children(server.pid());
    assert_eq!(workers.len(), 4, "{workers:?}");
    server.signal(Signal::SIGKILL);
    server.wait();
    wait::until("all workers are gone", || !workers.iter().any(|&worker| is_running(worker)));
    let left: Vec<String> =
        shared_memory().difference(&before).filter(|name| name.contains("nereid")).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Answers with the process id of a grandchild: a daemon with a session of its own, which holds all that the worker held.
/// 2: one that was started anew with an empty environment. 3: one that does not live long.
const DAEMONS: &str = "\
if value == 0:
    return 0
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, str(os.getpid()).encode())
        if value == 2:
            os.execve('/bin/sleep', ['sleep', '1000'], {})
        if value == 3:
            os._exit(0)
        while True:
            time.sleep(1000)
    os._exit(0)
os.wait()
return float(os.read(reading, 16))
";

fn daemon(server: &Server, model: &str, kind: f64) -> Pid {
    let response = echo(&mut server.client(), model, &[kind]).expect("an answer");
    assert_eq!(response.status, 200, "{}", response.text());
    let pid = values_of(&response)[0];
    #[expect(clippy::cast_possible_truncation, reason = "a process id is an i32")]
    Pid::from_raw(pid as i32)
}

#[test]
fn what_a_dead_worker_has_left_is_killed_and_its_successor_comes_at_once() {
    let repository = Repository::new();
    repository.add_python("parent", 1, DAEMONS);
    repository.add_python("bystander", 1, DAEMONS);
    let server = Server::start(repository);
    let worker = await_workers(&server, "parent", 1).remove(0);
    let bystander = await_workers(&server, "bystander", 1).remove(0);
    let left = [daemon(&server, "parent", 1.0), daemon(&server, "parent", 2.0)];
    let spared = [daemon(&server, "bystander", 1.0), daemon(&server, "bystander", 2.0)];
    assert!(left.iter().chain(&spared).all(|&pid| is_running(pid)), "{left:?} {spared:?}");

    worker.signal(Signal::SIGKILL);
    await_generation(&server, &worker, 2);
    wait::until("its daemons are gone", || !left.iter().any(|&pid| is_running(pid)));
    assert!(spared.iter().all(|&pid| is_running(pid)), "a daemon of a living worker was killed");
    assert_eq!(daemon(&server, "parent", 0.0), Pid::from_raw(0));
    assert!(server.log().contains("killed what dead workers had left"), "nothing is said of it");

    bystander.signal(Signal::SIGKILL);
    wait::until("those are gone, too", || !spared.iter().any(|&pid| is_running(pid)));
}

#[test]
fn a_daemon_that_ends_leaves_no_zombie() {
    let repository = Repository::new();
    repository.add_python("parent", 1, DAEMONS);
    let server = Server::start(repository);
    let worker = await_workers(&server, "parent", 1).remove(0);
    let ended = daemon(&server, "parent", 3.0);
    wait::until("the daemon was reaped", || !Path::new(&format!("/proc/{ended}")).exists());
    assert_eq!(children(server.pid()), [worker.pid]);
}

#[test]
fn the_end_of_the_server_takes_the_daemons_of_its_models_along() {
    let repository = Repository::new();
    repository.add_python("parent", 1, DAEMONS);
    let mut server = Server::start(repository);
    let left = [daemon(&server, "parent", 1.0), daemon(&server, "parent", 2.0)];
    server.signal(Signal::SIGTERM);
    assert!(server.wait().success());
    assert!(!left.iter().any(|&pid| is_running(pid)), "{left:?}");
}

fn shared_memory() -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir("/dev/shm") else { return BTreeSet::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
