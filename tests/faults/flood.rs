//! A worker that says too much: frames that are none, answers without end, memory without end, words without end.

use harness::faults::await_workers;
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use nix::sys::signal::Signal;

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

/// Sends valid control packets as fast as it can.
const CHATTER: &str = "\
import socket
control = socket.socket(fileno=os.dup(3))
pong = b'\\x00\\x2a\\x00\\x78' + bytes([int(os.environ['NEREID_GENERATION'])])
while value > 0:
    try:
        control.send(pong)
    except BlockingIOError:
        pass
return value";

#[test]
fn a_worker_that_floods_its_control_socket_is_killed_for_it() {
    let repository = Repository::new();
    repository.add_python("liar", 1, CHATTER);
    repository.add_echo("honest", 1, "");
    let mut server = Server::start(repository);
    let mut client = server.client();
    let response = echo(&mut client, "liar", &[1.0]).expect("an answer");
    assert_eq!(response.status, 503, "{}", response.text());
    assert!(response.error().contains("floods its control socket"), "{}", response.text());
    assert_eq!(values_of(&echo(&mut client, "honest", &[4.0]).expect("an answer")), [4.0]);
    wait::until("the model serves again", || {
        echo(&mut client, "liar", &[0.0]).expect("an answer").status == 200
    });
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_model_that_logs_in_a_loop_is_slowed_and_served() {
    let repository = Repository::new();
    repository.add_python(
        "chatty",
        1,
        "for number in range(25000):\n    pb_utils.Logger.log_info('a word')\n\
         if value > 1:\n    os._exit(7)\nreturn value",
    );
    let server = Server::start(repository);
    let worker = await_workers(&server, "chatty", 1);
    assert_eq!(values_of(&echo(&mut server.client(), "chatty", &[1.0]).expect("an answer")), [1.0]);
    assert_eq!(await_workers(&server, "chatty", 1), worker);
    assert!(server.log().lines().count() < 8000);
    let response = echo(&mut server.client(), "chatty", &[2.0]).expect("an answer");
    assert!(response.error().contains("exited with code 7"), "{}", response.text());
    wait::until("the log tells what it left out", || {
        server.log().contains("lines of this worker were dropped")
    });
}

#[test]
fn a_worker_that_writes_without_end_is_cut_short_in_the_log_but_for_its_last_words() {
    let repository = Repository::new();
    repository.add_python(
        "loud",
        1,
        "for number in range(50000):\n    print('line', number, file=sys.stderr)\n\
         print('the end', file=sys.stderr, flush=True)\nos._exit(7)",
    );
    let server = Server::start(repository);
    let response = echo(&mut server.client(), "loud", &[1.0]).expect("an answer");
    assert_eq!(response.status, 503, "{}", response.text());
    let crash = wait::until_some("the crash is reported", || {
        server.log().lines().find(|line| line.contains("worker exited with code 7")).map(str::to_owned)
    });
    assert!(crash.contains("line 49999") && crash.contains("the end"), "{crash}");
    wait::until("the log tells what it left out", || {
        server.log().contains("lines of this worker were dropped")
    });
    assert!(server.log().lines().count() < 5000);
}

fn resident_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
    line.trim().split(' ').next().and_then(|kb| kb.parse().ok()).expect("a number")
}
