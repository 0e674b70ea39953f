//! What a client is told that asks for something wrong: the status, the exact text, and that nothing else changed.

use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use serde_json::{Value, json};

/// One server for all requests of a test: it must still serve after each of them.
fn server() -> Server {
    let repository = Repository::new();
    repository.add_echo("echo", 1, "");
    Server::start(repository)
}

fn infer(server: &Server, body: &Value) -> (u16, String) {
    let response = server.client().post("/v2/models/echo/infer", body).expect("an answer");
    (response.status, response.error())
}

fn input(field: &str, value: Value) -> Value {
    let mut input = json!({"name": "INPUT0", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]});
    input[field] = value;
    json!({"inputs": [input]})
}

#[track_caller]
fn assert_serves(server: &Server) {
    assert_eq!(values_of(&echo(&mut server.client(), "echo", &[1.0, 2.0]).expect("an answer")), [1.0, 2.0]);
}

#[test]
fn an_unknown_model_is_not_found() {
    let server = server();
    let expected = (404, "Request for unknown model: 'nobody' is not found".to_owned());
    for path in ["/v2/models/nobody", "/v2/models/nobody/config", "/v2/models/nobody/ready"] {
        let response = server.get(path);
        assert_eq!((response.status, response.error()), expected, "{path}");
    }
    let response =
        server.client().post("/v2/models/nobody/infer", &input("name", json!("INPUT0"))).expect("an answer");
    assert_eq!((response.status, response.error()), expected);
    assert_serves(&server);
}

#[test]
fn an_unknown_version_is_not_found() {
    let server = server();
    let response = server.get("/v2/models/echo/versions/5");
    let expected = "Request for unknown model: 'echo' version 5 is not found";
    assert_eq!((response.status, response.error().as_str()), (404, expected));
}

#[test]
fn an_unknown_path_and_a_wrong_method_are_refused() {
    let server = server();
    assert_eq!(server.get("/v3").status, 404);
    assert_eq!(server.get("/v2/").status, 404);
    assert_eq!(server.get("/v2/models/echo/infer").status, 405);
    assert_eq!(server.client().post("/v2/health/live", &json!({})).expect("an answer").status, 405);
    assert_serves(&server);
}

#[test]
fn a_wrong_shape_is_refused_with_what_was_expected() {
    let server = server();
    let (status, error) = infer(&server, &input("shape", json!([2])));
    assert_eq!(status, 400);
    assert!(
        error.starts_with("[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'echo'. Expected [-1,-1], got [2]."),
        "{error}"
    );
    assert_serves(&server);
}

#[test]
fn a_request_that_describes_itself_at_length_is_refused_and_harms_nobody() {
    let server = server();
    let long = "x".repeat(2 << 20);
    let mut bodies = vec![input("name", json!(long))];
    for (member, value) in
        [("id", json!(long)), ("parameters", json!({ "p": long })), ("outputs", json!([{ "name": long }]))]
    {
        let mut body = input("name", json!("INPUT0"));
        body[member] = value;
        bodies.push(body);
    }
    for body in bodies {
        let (status, error) = infer(&server, &body);
        assert_eq!(status, 400);
        assert!(error.contains("bytes together, the limit is 1048576 bytes"), "{error}");
        assert_serves(&server);
    }
}

#[test]
fn a_batch_that_is_too_large_is_refused() {
    let server = server();
    let body = json!({
        "id": "7", "inputs": [{"name": "INPUT0", "shape": [9, 1], "datatype": "FP32", "data": [1,2,3,4,5,6,7,8,9]}]
    });
    let expected = "[request id: 7] inference request batch-size must be <= 8 for 'echo'";
    assert_eq!(infer(&server, &body), (400, expected.to_owned()));
    assert_serves(&server);
}

#[test]
fn a_wrong_type_is_refused() {
    let server = server();
    let expected = "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'INT32', but model 'echo' expects 'FP32'";
    assert_eq!(infer(&server, &input("datatype", json!("INT32"))), (400, expected.to_owned()));
    assert_serves(&server);
}

#[test]
fn a_wrong_name_is_refused() {
    let server = server();
    let expected = "unexpected inference input 'INPUT9' for model 'echo'";
    assert_eq!(infer(&server, &input("name", json!("INPUT9"))), (400, expected.to_owned()));
    let mut body = input("name", json!("INPUT0"));
    body["outputs"] = json!([{"name": "OUTPUT9"}]);
    let expected = "unexpected inference output 'OUTPUT9' for model 'echo'";
    assert_eq!(infer(&server, &body), (400, expected.to_owned()));
    assert_serves(&server);
}

#[test]
fn a_missing_input_is_named() {
    let server = server();
    let expected = "[request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'echo'. Got input(s) [], \
                    but missing required input(s) ['INPUT0']. Please provide all required input(s).";
    assert_eq!(infer(&server, &json!({"inputs": []})), (400, expected.to_owned()));
    assert_serves(&server);
}

#[test]
fn values_that_do_not_fill_the_shape_are_refused() {
    let server = server();
    let short = "Failed to parse 'data' field: shape does not match true shape";
    let long = "Unable to parse 'data': Shape does not match true shape of 'data' field";
    let (status, error) = infer(&server, &input("data", json!([1])));
    assert!(status == 500 && error.contains(short), "{status} {error}");
    let (status, error) = infer(&server, &input("data", json!([1, 2, 3])));
    assert!(status == 500 && error.contains(long), "{status} {error}");
    assert_serves(&server);
}

#[test]
fn a_missing_field_is_named() {
    let server = server();
    let expected = "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'";
    assert_eq!(infer(&server, &json!({})), (500, expected.to_owned()));
    let body = json!({"inputs": [{"name": "INPUT0", "datatype": "FP32", "data": [1]}]});
    let expected = "Unable to parse 'shape': attempt to access non-existing object member 'shape'";
    assert_eq!(infer(&server, &body), (500, expected.to_owned()));
    assert_serves(&server);
}

#[test]
fn bodies_that_are_no_json_are_refused() {
    let server = server();
    let deep = "[".repeat(100_000);
    for body in ["{", "nonsense", "{\"inputs\": [}", "\u{0}\u{1}", deep.as_str()] {
        let response = server
            .client()
            .request("POST", "/v2/models/echo/infer", &[], body.as_bytes())
            .expect("an answer");
        let shown: String = body.chars().take(20).collect();
        assert!(response.status == 500 || response.status == 400, "{shown}: {}", response.status);
        assert!(!response.error().is_empty());
    }
    assert_serves(&server);
}

#[test]
fn bytes_that_are_no_http_end_only_their_own_connection() {
    let server = server();
    for bytes in [
        &b"\x00\x01\x02\x03\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"POST /v2 HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    ] {
        let mut client = server.client();
        client.send_raw(bytes).expect("sent");
        match client.receive() {
            Ok(response) => assert!(response.status >= 400, "{}", response.status),
            Err(_closed) => {}
        }
    }
    assert_serves(&server);
}

#[test]
fn a_client_that_leaves_in_the_middle_of_its_request_is_forgotten() {
    let server = server();
    for _ in 0..20 {
        let mut client = server.client();
        client
            .send_raw(b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"inp")
            .expect("sent");
    }
    assert_serves(&server);
}

#[test]
fn the_metrics_tell_of_a_model_that_could_not_be_loaded() {
    let repository = Repository::new();
    repository.add_echo("good", 1, "");
    repository.add("bad", "backend: \"fortran\"");
    let server = Server::builder(repository).flag("--strict-readiness=false").start();
    let metrics = server.metrics();
    for line in [
        "nereid_model_ready{model=\"good\",version=\"1\"} 1",
        "nereid_model_ready{model=\"bad\",version=\"1\"} 0",
    ] {
        assert!(metrics.lines().any(|other| other == line), "{line}\n{metrics}");
    }
}
