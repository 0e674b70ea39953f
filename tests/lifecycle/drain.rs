//! SIGTERM and SIGINT: what runs is finished, nothing new is taken, and the exit code is 0.

use harness::faults::{await_workers, children, is_running};
use harness::http::Client;
use harness::load::{Load, echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use nix::sys::signal::Signal;
use serde_json::json;

fn slow_server() -> Server {
    let repository = Repository::new();
    repository.add_python(
        "slow",
        1,
        "open(os.environ['TEST_MARK'], 'w').close()\ntime.sleep(value)\nreturn value",
    );
    let mark = repository.path().join("mark");
    Server::builder(repository).env("TEST_MARK", &mark.display().to_string()).start()
}

/// Sends a request and waits until the model executes it.
fn send_slow(server: &Server, seconds: &str) -> Client {
    let mut client = server.client();
    let body = format!(
        r#"{{"inputs": [{{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [{seconds}]}}]}}"#
    );
    client.send("POST", "/v2/models/slow/infer", &[], body.as_bytes()).expect("sent");
    let mark = server.repository().path().join("mark");
    wait::until("the model executes", || mark.exists());
    client
}

#[track_caller]
fn assert_drains(signal: Signal) {
    let mut server = slow_server();
    let mut client = send_slow(&server, "1.5");
    let workers = children(server.pid());
    server.signal(signal);
    let response = client.receive().expect("the request that ran is answered");
    assert_eq!((response.status, values_of(&response)), (200, vec![1.5]));
    assert_eq!(server.wait().code(), Some(0));
    assert!(!workers.iter().any(|&worker| is_running(worker)), "a worker is left");
}

#[test]
fn sigterm_lets_running_requests_finish_and_exits_0() {
    assert_drains(Signal::SIGTERM);
}

#[test]
fn sigint_lets_running_requests_finish_and_exits_0() {
    assert_drains(Signal::SIGINT);
}

#[test]
fn sigterm_under_load_breaks_no_request_that_was_taken() {
    let repository = Repository::new();
    repository.add_echo("echo", 2, "");
    let mut server = Server::start(repository);
    await_workers(&server, "echo", 2);
    let load = Load::start(server.ports().http, "echo", 8);
    wait::until("the load has begun", || load.succeeded() >= 200);
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait().code(), Some(0));
    let outcome = load.stop();
    // Refused while it stops, or not connected any more: but never a wrong answer.
    assert!(outcome.refused.iter().all(|(status, _)| *status == 503), "{:?}", outcome.refused);
}

#[test]
fn sigterm_while_models_load_lets_running_requests_of_ready_models_finish() {
    let repository = Repository::new();
    repository.add_python(
        "slow",
        1,
        "open(os.environ['TEST_MARK'], 'w').close()\ntime.sleep(value)\nreturn value",
    );
    let delay = r#"parameters { key: "load_fault" value { string_value: "delay:60000" } }"#;
    repository.add_echo("loading", 1, delay);
    let mark = repository.path().join("mark");
    let mut server =
        Server::builder(repository).env("TEST_MARK", &mark.display().to_string()).start_listening();
    wait::until("one model is ready", || server.get("/v2/models/slow/ready").status == 200);
    let mut client = send_slow(&server, "1.5");
    let workers = children(server.pid());
    server.signal(Signal::SIGTERM);
    let response = client.receive().expect("the request that ran is answered");
    assert_eq!((response.status, values_of(&response)), (200, vec![1.5]));
    assert_eq!(server.wait().code(), Some(0));
    assert!(!workers.iter().any(|&worker| is_running(worker)), "a worker is left");
}

#[test]
fn during_the_shutdown_grace_the_server_is_not_ready_and_serves() {
    let repository = Repository::new();
    repository.add_echo("echo", 1, "");
    let mut server = Server::builder(repository).flag("--shutdown-grace-secs=60").start();
    server.signal(Signal::SIGTERM);
    wait::until("the server is not ready", || server.get("/v2/health/ready").status != 200);
    let response = echo(&mut server.client(), "echo", &[1.0]).expect("an answer");
    assert_eq!((response.status, values_of(&response)), (200, vec![1.0]));
    // The grace ends with a second one.
    server.signal(Signal::SIGTERM);
    server.wait();
    assert!(server.log().contains("again: stopping now"));
}

#[test]
fn a_worker_that_was_killed_before_does_not_spoil_the_exit_code() {
    let repository = Repository::new();
    repository.add_echo("liar", 1, r#"parameters { key: "faults" value { string_value: "true" } }"#);
    let mut server = Server::start(repository);
    let mut client = server.client();
    let body = json!({
        "parameters": {"fault": "close"},
        "inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1]}]
    });
    wait::until("the model is given up", || {
        let response = client.post("/v2/models/liar/infer", &body).expect("an answer");
        assert_eq!(response.status, 503, "{}", response.text());
        !response.error().contains("held this request")
    });
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn an_idle_server_stops_quickly() {
    let repository = Repository::new();
    repository.add_echo("echo", 2, "");
    let mut server = Server::start(repository);
    let begun = std::time::Instant::now();
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait().code(), Some(0));
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "it took {:?}", begun.elapsed());
}

#[test]
fn requests_that_outlast_the_exit_timeout_are_cut_off() {
    let repository = Repository::new();
    repository.add_python(
        "slow",
        1,
        "open(os.environ['TEST_MARK'], 'w').close()\ntime.sleep(value)\nreturn value",
    );
    let mark = repository.path().join("mark");
    let mut server = Server::builder(repository)
        .env("TEST_MARK", &mark.display().to_string())
        .flag("--exit-timeout-secs=1")
        .start();
    let _client = send_slow(&server, "60");
    let workers = children(server.pid());
    server.signal(Signal::SIGTERM);
    server.wait();
    wait::until("the worker is gone", || !workers.iter().any(|&worker| is_running(worker)));
}

#[test]
fn a_second_sigterm_does_not_wait_for_running_requests() {
    let mut server = slow_server();
    let _client = send_slow(&server, "60");
    let workers = children(server.pid());
    let begun = std::time::Instant::now();
    server.signal(Signal::SIGTERM);
    wait::until("the server stops", || server.log().contains("SIGTERM: stopping"));
    server.signal(Signal::SIGTERM);
    server.wait();
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "it took {:?}", begun.elapsed());
    wait::until("the worker is gone", || !workers.iter().any(|&worker| is_running(worker)));
}
