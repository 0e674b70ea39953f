//! Requests that meet in a batch.

use harness::repository::Repository;
use harness::server::Server;
use serde_json::json;

/// More requests of nearly the largest description than fit into one packet together.
const CLIENTS: usize = 80;
const PARAMETER_BYTES: usize = 1_000_000;

#[test]
fn requests_that_are_too_large_to_describe_together_are_answered_one_by_one() {
    let repository = Repository::new();
    repository.add(
        "wide",
        "backend: \"echo\" max_batch_size: 128\n\
         input [{ name: \"INPUT0\" data_type: TYPE_FP32 dims: [ 1 ] }]\n\
         output [{ name: \"OUTPUT0\" data_type: TYPE_FP32 dims: [ 1 ] }]\n\
         dynamic_batching { preferred_batch_size: [ 128 ] max_queue_delay_microseconds: 2000000 }",
    );
    let server = Server::start(repository);
    let body = json!({
        "parameters": { "note": "x".repeat(PARAMETER_BYTES) },
        "inputs": [{ "name": "INPUT0", "datatype": "FP32", "shape": [1, 1], "data": [1] }],
    });
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let response = server.client().post("/v2/models/wide/infer", &body).expect("an answer");
                assert_eq!(response.status, 200, "{}", response.text());
            });
        }
    });
    assert!(
        server
            .metrics()
            .contains("nereid_worker_restarts_total{model=\"wide\",version=\"1\",instance=\"wide_0\"} 0")
    );
}
