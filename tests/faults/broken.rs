//! Models that cannot be loaded: each is unavailable with a reason, and the others serve.

use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use serde_json::json;

/// Starts a server with a good model and the broken one that `add` makes, and checks that only that one is missing.
#[track_caller]
fn assert_only_this_is_broken(add: impl FnOnce(&Repository)) -> Server {
    let repository = Repository::new();
    repository.add_echo("good", 1, "");
    add(&repository);
    let server =
        Server::builder(repository).flag("--exit-on-error=false").flag("--strict-readiness=false").start();
    let mut client = server.client();
    assert_eq!(values_of(&echo(&mut client, "good", &[1.0]).expect("an answer")), [1.0]);
    assert_eq!(client.get("/v2/models/good/ready").expect("an answer").status, 200);
    let ready = client.get("/v2/models/bad/ready").expect("an answer").status;
    assert!(ready >= 400, "{ready}");
    let response = echo(&mut client, "bad", &[1.0]).expect("an answer");
    assert!(response.status >= 400, "{}", response.status);
    assert!(response.error().contains("'bad'"), "{}", response.text());
    server
}

#[test]
fn a_model_with_a_broken_configuration_does_not_stop_the_others() {
    assert_only_this_is_broken(|repository| repository.add("bad", "max_batch_size: }"));
}

#[test]
fn a_model_with_an_impossible_configuration_does_not_stop_the_others() {
    assert_only_this_is_broken(|repository| {
        repository.add_echo("bad", 1, "version_policy { specific {} }\nmax_batch_size: -1")
    });
}

#[test]
fn a_model_of_an_unknown_backend_does_not_stop_the_others() {
    assert_only_this_is_broken(|repository| repository.add("bad", "backend: \"nobody\"\nmax_batch_size: 1"));
}

#[test]
fn a_model_without_its_file_does_not_stop_the_others() {
    assert_only_this_is_broken(|repository| repository.add("bad", "platform: \"onnxruntime_onnx\""));
}

#[test]
fn a_model_file_that_is_no_model_does_not_stop_the_others() {
    assert_only_this_is_broken(|repository| {
        repository.add("bad", "platform: \"onnxruntime_onnx\"");
        repository.write("bad/1/model.onnx", [0xff; 1000]);
    });
}

#[test]
fn a_python_model_that_does_not_parse_does_not_stop_the_others() {
    assert_only_this_is_broken(|repository| repository.add_python_source("bad", 1, "def execute(:"));
}

#[test]
fn a_model_whose_worker_dies_while_loading_does_not_stop_the_others() {
    let source = "import os\nclass TritonPythonModel:\n    def initialize(self, args):\n        os._exit(9)\n\n    def execute(self, requests):\n        return []\n";
    assert_only_this_is_broken(|repository| repository.add_python_source("bad", 1, source));
}

#[test]
fn with_strict_readiness_a_broken_model_makes_the_server_not_ready_and_it_serves_the_others() {
    let repository = Repository::new();
    repository.add_echo("good", 1, "");
    repository.add("bad", "max_batch_size: }");
    let server = Server::builder(repository).flag("--exit-on-error=false").start_listening();
    let body = json!({"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [3]}]});
    harness::wait::until("the good model serves", || {
        let response = server.client().post("/v2/models/good/infer", &body);
        response.is_ok_and(|response| response.status == 200)
    });
    assert_eq!(server.get("/v2/health/live").status, 200);
    assert_eq!(server.get("/v2/health/ready").status, 400);
}
