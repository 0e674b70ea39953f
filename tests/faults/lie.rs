//! A worker that says what is not true: the client gets an error and never bytes that are not its answer.

use harness::faults::await_workers;
use harness::http::{Client, Response};
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use serde_json::json;

/// Lies about where an answer lies and what it is.
const DESCRIPTORS: &[&str] =
    &["shape", "negative", "rank", "datatype", "bounds", "overflow", "segment", "elements"];
/// Answers that fit the memory but not the model.
const MODEL: &[&str] = &["name"];
/// Messages at the wrong time, or of another incarnation.
const MESSAGES: &[&str] = &["ticket", "batch", "generation", "duplicate", "late", "empty"];

fn server() -> Server {
    let repository = Repository::new();
    repository.add_echo("liar", 1, "parameters { key: \"faults\" value { string_value: \"true\" } }");
    repository.add_echo("honest", 1, "");
    Server::start(repository)
}

/// Sends a request that makes the worker misbehave.
pub(crate) fn command(client: &mut Client, fault: &str) -> Response {
    let body = json!({
        "parameters": {"fault": fault},
        "inputs": [{"name": "INPUT0", "shape": [1, 3], "datatype": "FP32", "data": [1.5, 2.5, 3.5]}]
    });
    client.post("/v2/models/liar/infer", &body).unwrap_or_else(|error| panic!("{fault}: no answer: {error}"))
}

/// Each fault gets an error or the right answer; the other model is untouched, and the liar serves again.
#[track_caller]
fn assert_contained(faults: &[&str], may_succeed: bool) {
    for fault in faults {
        // A server of its own: a worker that dies too often would not be started again.
        let server = server();
        let honest = await_workers(&server, "honest", 1);
        let mut client = server.client();
        let response = command(&mut client, &format!("lie:{fault}"));
        match response.status {
            200 if may_succeed => {
                // Its own request it may answer with nothing.
                let outputs = &response.json()["outputs"];
                let fits = outputs[0]["data"] == json!([1.5, 2.5, 3.5]) || *outputs == json!([]);
                assert!(fits, "{fault}: {}", response.text());
            }
            500 => assert!(!response.error().is_empty(), "{fault}: {}", response.text()),
            503 => assert!(response.error().contains("liar"), "{fault}: {}", response.text()),
            status => panic!("{fault}: {status}: {}", response.text()),
        }
        assert_eq!(values_of(&echo(&mut client, "honest", &[4.0]).expect("an answer")), [4.0]);
        wait::until(&format!("the liar serves again after '{fault}'"), || {
            let response = echo(&mut client, "liar", &[5.0]).expect("an answer");
            response.status == 200 && values_of(&response) == [5.0]
        });
        assert_eq!(await_workers(&server, "honest", 1), honest);
    }
}

#[test]
fn an_answer_that_lies_about_its_memory_is_never_delivered() {
    assert_contained(DESCRIPTORS, false);
}

#[test]
fn an_answer_that_does_not_fit_the_model_is_never_delivered() {
    assert_contained(MODEL, false);
}

#[test]
fn messages_that_nobody_asked_for_harm_nobody_else() {
    assert_contained(MESSAGES, true);
}

#[test]
fn a_worker_that_closes_its_socket_is_replaced() {
    let server = server();
    let mut client = server.client();
    let response = command(&mut client, "close");
    assert_eq!(response.status, 503, "{}", response.text());
    wait::until("the liar serves again", || {
        echo(&mut client, "liar", &[5.0]).expect("an answer").status == 200
    });
}

#[test]
fn a_request_that_the_backend_forgets_gets_an_error() {
    let server = server();
    let response = command(&mut server.client(), "silence");
    assert_eq!(response.status, 500, "{}", response.text());
    assert_eq!(values_of(&echo(&mut server.client(), "liar", &[5.0]).expect("an answer")), [5.0]);
}
