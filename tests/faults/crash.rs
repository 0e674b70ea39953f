//! A model that ends its own process, in each of the ways there are, and one that only fails.

use std::time::{Duration, Instant};

use harness::faults::{await_generation, await_workers, workers};
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use serde_json::json;

/// Far less than any timeout.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What the model does is the request's first value; 0 is harmless.
const MODEL: &str = "\
if value == 1: os._exit(3)
if value == 2: os.kill(os.getpid(), signal.SIGSEGV)
if value == 3: os.abort()
if value == 5: raise ValueError('the model is unhappy')
return value";

fn server() -> Server {
    let repository = Repository::new();
    repository.add_python("fragile", 1, MODEL);
    repository.add_echo("echo", 1, "");
    Server::start(repository)
}

/// The model's worker dies of `value`; the client is told `cause`, and the model is back afterwards.
#[track_caller]
fn assert_dies(value: f64, cause: &str) {
    let server = server();
    let worker = await_workers(&server, "fragile", 1).remove(0);
    let mut client = server.client();
    let response = echo(&mut client, "fragile", &[value]).expect("an answer");
    assert_eq!(response.status, 503, "{}", response.text());
    let error = response.error();
    for part in ["fragile", worker.instance.as_str(), cause] {
        assert!(error.contains(part), "{part} is not named: {error}");
    }
    assert_eq!(values_of(&echo(&mut client, "echo", &[2.0]).expect("an answer")), [2.0]);
    await_generation(&server, &worker, 2);
    assert_eq!(values_of(&echo(&mut client, "fragile", &[0.0]).expect("an answer")), [0.0]);
}

#[test]
fn a_worker_that_exits_costs_its_request_and_is_replaced() {
    assert_dies(1.0, "exited with code 3");
}

#[test]
fn a_worker_that_segfaults_costs_its_request_and_is_replaced() {
    assert_dies(2.0, "killed by signal 11 (SIGSEGV)");
}

#[test]
fn a_worker_that_aborts_costs_its_request_and_is_replaced() {
    assert_dies(3.0, "killed by signal 6 (SIGABRT)");
}

#[test]
fn an_exception_of_a_python_model_fails_its_request_and_the_worker_lives() {
    let server = server();
    let worker = await_workers(&server, "fragile", 1).remove(0);
    let mut client = server.client();
    let response = echo(&mut client, "fragile", &[5.0]).expect("an answer");
    assert_eq!(response.status, 500);
    let error = response.error();
    assert!(error.contains("Failed to process the request(s) for model"), "{error}");
    assert!(error.contains("the model is unhappy") && error.contains("model.py"), "no traceback: {error}");
    assert_eq!(values_of(&echo(&mut client, "fragile", &[0.0]).expect("an answer")), [0.0]);
    assert_eq!(await_workers(&server, "fragile", 1), [worker]);
}

#[test]
fn a_worker_that_dies_again_and_again_leaves_the_other_models_alone() {
    let server = server();
    let mut client = server.client();
    for _ in 0..3 {
        let worker = await_workers(&server, "fragile", 1).remove(0);
        assert_eq!(echo(&mut client, "fragile", &[1.0]).expect("an answer").status, 503);
        assert_eq!(values_of(&echo(&mut client, "echo", &[2.0]).expect("an answer")), [2.0]);
        await_generation(&server, &worker, worker.generation + 1);
    }
}

#[test]
fn a_worker_that_dies_too_often_is_given_up_and_its_requests_are_refused_at_once() {
    let repository = Repository::new();
    repository.add_echo("fragile", 1, "parameters { key: \"faults\" value { string_value: \"true\" } }");
    repository.add_echo("echo", 1, "");
    let server = Server::start(repository);
    let mut client = server.client();
    let body = json!({
        "parameters": {"fault": "exit:3"},
        "inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1]}]
    });
    wait::until("the model is given up", || {
        let response = client.post("/v2/models/fragile/infer", &body).expect("an answer");
        assert_eq!(response.status, 503, "{}", response.text());
        !response.error().contains("held this request")
    });
    assert!(workers(&server, "fragile").is_empty());
    assert!(server.get("/v2/models/fragile/ready").status >= 400);
    let begun = Instant::now();
    let response = echo(&mut client, "fragile", &[1.0]).expect("an answer");
    assert_eq!(response.status, 503, "{}", response.text());
    assert!(response.error().contains("exited with code 3"), "{}", response.text());
    assert!(begun.elapsed() < AT_ONCE, "it took {:?}", begun.elapsed());
    assert_eq!(server.get("/v2/health/ready").status, 400);
    assert_eq!(values_of(&echo(&mut client, "echo", &[2.0]).expect("an answer")), [2.0]);
}
