//! A worker that says too much: frames that are none, answers without end, memory without end.

use harness::faults::await_workers;
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;

use crate::lie::command;

const FAULTS: &[&str] = &["flood:100000", "garbage:1000", "needs:1000", "big:2000000000", "panic"];
/// What the supervisor may grow by while a worker floods it.
const GROWTH_MAX_KB: u64 = 128 << 10;

#[test]
fn a_worker_that_floods_is_contained_and_the_server_does_not_grow() {
    let repository = Repository::new();
    repository.add_echo("liar", 1, "parameters { key: \"faults\" value { string_value: \"true\" } }");
    repository.add_echo("honest", 1, "");
    let server = Server::start(repository);
    let honest = await_workers(&server, "honest", 1);
    let before = resident_kb(&server);
    for fault in FAULTS {
        let mut client = server.client();
        let response = command(&mut client, fault);
        assert!(
            matches!(response.status, 200 | 500 | 503),
            "{fault}: {} {}",
            response.status,
            response.text()
        );
        assert_eq!(values_of(&echo(&mut client, "honest", &[4.0]).expect("an answer")), [4.0]);
        wait::until(&format!("the model serves again after '{fault}'"), || {
            echo(&mut client, "liar", &[5.0]).expect("an answer").status == 200
        });
    }
    assert_eq!(await_workers(&server, "honest", 1), honest);
    let growth = resident_kb(&server).saturating_sub(before);
    assert!(growth < GROWTH_MAX_KB, "the server grew by {growth} kB");
}

fn resident_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
    line.trim().split(' ').next().and_then(|kb| kb.parse().ok()).expect("a number")
}
