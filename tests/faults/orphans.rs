//! SIGKILL of the supervisor: no worker outlives it, idle or busy, and nothing is left in `/dev/shm`.

use std::collections::BTreeSet;
use std::fs;

use harness::faults::{await_workers, children, is_running};
use harness::load::echo;
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use nix::sys::signal::Signal;

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

fn shared_memory() -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir("/dev/shm") else { return BTreeSet::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
