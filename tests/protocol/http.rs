//! Health, metadata, configuration, inference in JSON, statistics.

use harness::http::Client;
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use serde_json::{Value, json};

fn server_with_echo() -> Server {
    let repository = Repository::new();
    repository.add_echo("echo", 1, "");
    Server::start(repository)
}

#[test]
fn a_ready_server_answers_health_with_an_empty_body() {
    let server = server_with_echo();
    for path in
        ["/v2/health/live", "/v2/health/ready", "/v2/models/echo/ready", "/v2/models/echo/versions/1/ready"]
    {
        let response = server.get(path);
        assert_eq!((response.status, response.text().as_str()), (200, ""), "{path}");
    }
}

#[test]
fn the_server_tells_its_name_and_extensions() {
    let server = server_with_echo();
    let body = server.get("/v2").json();
    assert_eq!(body["name"], "triton");
    let extensions = body["extensions"].as_array().expect("a list");
    for extension in ["binary_tensor_data", "parameters", "statistics", "model_configuration"] {
        assert!(extensions.contains(&json!(extension)), "{body}");
    }
}

#[test]
fn a_model_tells_its_tensors_with_the_batch_dimension() {
    let server = server_with_echo();
    let body = server.get("/v2/models/echo").json();
    let tensor = |name: &str| json!([{"name": name, "datatype": "FP32", "shape": [-1, -1]}]);
    assert_eq!(body["name"], "echo");
    assert_eq!(body["versions"], json!(["1"]));
    assert_eq!(body["inputs"], tensor("INPUT0"));
    assert_eq!(body["outputs"], tensor("OUTPUT0"));
}

#[test]
fn a_model_tells_its_whole_configuration() {
    let server = server_with_echo();
    let body = server.get("/v2/models/echo/config").json();
    assert_eq!(body["max_batch_size"], 8);
    assert_eq!(body["backend"], "echo");
    assert_eq!(body["version_policy"], json!({"latest": {"num_versions": 1}}));
    assert_eq!(body["instance_group"][0]["kind"], "KIND_CPU");
    assert_eq!(body["input"][0]["dims"], json!([-1]));
}

#[test]
fn an_inference_in_json_is_answered_in_json() {
    let server = server_with_echo();
    let body = json!({
        "id": "42",
        "inputs": [{"name": "INPUT0", "shape": [2, 2], "datatype": "FP32", "data": [[1, 2.5], [-3, 0.1]]}],
        "outputs": [{"name": "OUTPUT0"}]
    });
    let response = server.client().post("/v2/models/echo/infer", &body).expect("an answer");
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("content-type"), Some("application/json"));
    let answer = response.json();
    let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["id", "model_name", "model_version", "outputs"]);
    assert_eq!(answer["id"], "42");
    assert_eq!((&answer["model_name"], &answer["model_version"]), (&json!("echo"), &json!("1")));
    assert_eq!(answer["outputs"][0]["shape"], json!([2, 2]));
    // The shortest double of the nearest float.
    assert!(response.text().contains("0.10000000149011612"), "{}", response.text());
}

#[test]
fn a_connection_serves_many_requests() {
    let server = server_with_echo();
    let mut client = server.client();
    for number in 0..50 {
        let response = echo(&mut client, "echo", &[f64::from(number)]).expect("an answer");
        assert_eq!(values_of(&response), [f64::from(number)]);
    }
}

#[test]
fn a_version_may_be_named() {
    let server = server_with_echo();
    let body = json!({"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [7]}]});
    let response = server.client().post("/v2/models/echo/versions/1/infer", &body).expect("an answer");
    assert_eq!(values_of(&response), [7.0]);
}

#[test]
fn statistics_count_what_was_served() {
    let server = server_with_echo();
    let mut client = server.client();
    let row = json!({"name": "INPUT0", "shape": [3, 1], "datatype": "FP32", "data": [1, 2, 3]});
    for _ in 0..4 {
        let response = client.post("/v2/models/echo/infer", &json!({"inputs": [row]})).expect("an answer");
        assert_eq!(response.status, 200);
    }
    let wrong = json!({"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "INT32", "data": [1]}]});
    assert_eq!(client.post("/v2/models/echo/infer", &wrong).expect("an answer").status, 400);
    let stats = statistics(&mut client);
    assert_eq!((&stats["inference_count"], &stats["execution_count"]), (&json!(12), &json!(4)));
    assert_eq!(stats["inference_stats"]["success"]["count"], 4);
    assert_eq!(stats["inference_stats"]["queue"]["count"], 4);
    assert!(stats["last_inference"].as_u64().expect("a number") > 0);
    assert_eq!(stats["batch_stats"][0]["batch_size"], 3);
}

#[test]
fn metrics_count_what_was_served() {
    let server = server_with_echo();
    for _ in 0..3 {
        echo(&mut server.client(), "echo", &[1.0]).expect("an answer");
    }
    let metrics = server.metrics();
    let line = "nv_inference_request_success{model=\"echo\",version=\"1\"} 3";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}

#[test]
fn many_connections_are_served_at_once() {
    let server = server_with_echo();
    let mut clients: Vec<Client> = (0..64).map(|_| server.client()).collect();
    let body = json!({"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [5]}]});
    for client in &mut clients {
        client.send("POST", "/v2/models/echo/infer", &[], body.to_string().as_bytes()).expect("sent");
    }
    for client in &mut clients {
        assert_eq!(values_of(&client.receive().expect("an answer")), [5.0]);
    }
}

fn statistics(client: &mut Client) -> Value {
    let body = client.get("/v2/models/echo/stats").expect("an answer").json();
    body["model_stats"][0].clone()
}
