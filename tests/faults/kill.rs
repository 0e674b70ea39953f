//! SIGKILL of a worker: under load, in the middle of a request, while idle.

use std::time::{Duration, Instant};

use harness::faults::{await_generation, await_workers, metric, workers};
use harness::load::{Load, echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use nix::sys::signal::Signal;

const CLIENTS: usize = 16;
/// A worker that answers in microseconds is given batches ahead, and without dynamic batching each is one request.
const HELD_MAX: usize = 8;
/// Load before the kill and after the return.
const REQUESTS: usize = 500;
/// Far less than the request itself would take.
const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn killing_one_of_two_instances_loses_at_most_the_requests_that_it_held() {
    let repository = Repository::new();
    repository.add_echo("pair", 2, "");
    repository.add_echo("other", 1, "");
    let server = Server::start(repository);
    let before = await_workers(&server, "pair", 2);
    let other = await_workers(&server, "other", 1);
    assert!(before.iter().all(|worker| worker.generation == 1), "{before:?}");

    let pair = Load::start(server.ports().http, "pair", CLIENTS);
    let bystanders = Load::start(server.ports().http, "other", 2);
    wait::until("the load has begun", || {
        pair.succeeded() >= REQUESTS && bystanders.succeeded() >= REQUESTS / 10
    });
    before[0].signal(Signal::SIGKILL);
    let back = await_generation(&server, &before[0], 2);
    let at_return = pair.succeeded();
    wait::until("the load goes on", || pair.succeeded() >= at_return + REQUESTS);
    let (pair, bystanders) = (pair.stop(), bystanders.stop());

    assert!(pair.broken.is_empty(), "connections broke: {:?}", pair.broken);
    assert!(pair.refused.len() <= HELD_MAX, "{:?}", pair.refused);
    for (status, text) in &pair.refused {
        assert_eq!(*status, 503, "{text}");
        for part in ["pair", &before[0].instance, "SIGKILL"] {
            assert!(text.contains(part), "{part} is not named: {text}");
        }
    }
    assert_eq!(bystanders.lost(), 0, "{bystanders:?}");
    assert_ne!(back.pid, before[0].pid);
    let after = await_workers(&server, "pair", 2);
    assert!(after.contains(&before[1]), "the sibling is another: {after:?}");
    assert_eq!(workers(&server, "other"), other);
    assert_eq!(
        metric(&server, "nereid_worker_restarts_total", &[("instance", &before[0].instance)]),
        Some(1)
    );
    assert_eq!(
        metric(&server, "nereid_worker_restarts_total", &[("instance", &before[1].instance)]),
        Some(0)
    );
}

#[test]
fn a_request_whose_worker_is_killed_gets_503_with_the_cause_at_once() {
    let repository = Repository::new();
    repository.add_python("slow", 1, "time.sleep(value)\nreturn value");
    let server = Server::start(repository);
    let worker = await_workers(&server, "slow", 1).remove(0);
    let mut client = server.client();
    let body = br#"{"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [60]}]}"#;
    client.send("POST", "/v2/models/slow/infer", &[], body).expect("sent");
    wait::until("the worker executes", || pending_requests(&server, "slow") == Some(0) && is_busy(&worker));
    let killed = Instant::now();
    worker.signal(Signal::SIGKILL);
    let response = client.receive().expect("an answer");
    assert!(killed.elapsed() < AT_ONCE, "it took {:?}", killed.elapsed());
    assert_eq!(response.status, 503);
    let error = response.error();
    for part in ["slow", &worker.instance, "killed by signal 9 (SIGKILL)"] {
        assert!(error.contains(part), "{part} is not named: {error}");
    }
    await_generation(&server, &worker, 2);
    assert_eq!(values_of(&echo(&mut client, "slow", &[0.25]).expect("an answer")), [0.25]);
}

#[test]
fn requests_that_wait_for_a_worker_are_served_by_its_successor() {
    let repository = Repository::new();
    repository.add_python("slow", 1, "time.sleep(value)\nreturn value");
    let server = Server::start(repository);
    let worker = await_workers(&server, "slow", 1).remove(0);
    let mut running = server.client();
    let body = |seconds: f32| {
        format!(
            r#"{{"inputs": [{{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [{seconds}]}}]}}"#
        )
    };
    running.send("POST", "/v2/models/slow/infer", &[], body(60.0).as_bytes()).expect("sent");
    wait::until("the worker executes", || is_busy(&worker));
    let mut waiting: Vec<_> = (0..3).map(|_| server.client()).collect();
    for client in &mut waiting {
        client.send("POST", "/v2/models/slow/infer", &[], body(0.25).as_bytes()).expect("sent");
    }
    wait::until("three requests wait", || pending_requests(&server, "slow") == Some(3));
    worker.signal(Signal::SIGKILL);
    assert_eq!(running.receive().expect("an answer").status, 503);
    for client in &mut waiting {
        assert_eq!(values_of(&client.receive().expect("an answer")), [0.25]);
    }
}

#[test]
fn a_worker_killed_while_idle_is_replaced_and_no_request_is_lost() {
    let repository = Repository::new();
    repository.add_echo("echo", 1, "");
    let server = Server::start(repository);
    for generation in 1..=3 {
        let worker = await_workers(&server, "echo", 1).remove(0);
        assert_eq!(worker.generation, generation);
        worker.signal(Signal::SIGKILL);
        await_generation(&server, &worker, generation + 1);
        let response = echo(&mut server.client(), "echo", &[1.0]).expect("an answer");
        assert_eq!(response.status, 200, "{}", response.text());
    }
    assert_eq!(server.get("/v2/health/ready").status, 200);
}

fn pending_requests(server: &Server, model: &str) -> Option<u64> {
    metric(server, "nv_inference_pending_request_count", &[("model", model)])
}

/// Whether the worker sleeps in its model: in `nanosleep`, not in `poll` or `recvmsg`.
fn is_busy(worker: &harness::faults::Worker) -> bool {
    let syscall = std::fs::read_to_string(format!("/proc/{}/syscall", worker.pid)).unwrap_or_default();
    let number = syscall.split(' ').next().and_then(|number| number.parse::<i64>().ok());
    number == Some(nix::libc::SYS_clock_nanosleep)
}
