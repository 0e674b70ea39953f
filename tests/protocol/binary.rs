//! Tensors as bytes after the JSON: the header that tells where they start, all lengths, strings.

use harness::http::Response;
use harness::repository::Repository;
use harness::server::Server;
use serde_json::{Value, json};

const LENGTH_HEADER: &str = "Inference-Header-Content-Length";

fn server() -> Server {
    let repository = Repository::new();
    repository.add_echo("echo", 1, "");
    repository.add(
        "strings",
        "backend: \"echo\"\nmax_batch_size: 0\n\
         input [{ name: \"INPUT0\" data_type: TYPE_STRING dims: [ -1 ] }]\n\
         output [{ name: \"OUTPUT0\" data_type: TYPE_STRING dims: [ -1 ] }]\n",
    );
    Server::start(repository)
}

fn infer(server: &Server, model: &str, header: &Value, blob: &[u8]) -> Response {
    let json = header.to_string();
    let mut body = json.clone().into_bytes();
    body.extend_from_slice(blob);
    let headers = [(LENGTH_HEADER, json.len().to_string())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    server.client().request("POST", &format!("/v2/models/{model}/infer"), &headers, &body).expect("an answer")
}

/// The JSON and the bytes of an answer with binary tensors.
fn parts(response: &Response) -> (Value, &[u8]) {
    let length: usize = response
        .header("inference-header-content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or_else(|| panic!("no binary answer: {} {}", response.status, response.text()));
    let (json, blob) = response.body.split_at(length);
    (serde_json::from_slice(json).expect("JSON"), blob)
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn string(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("a short string");
    [&length.to_le_bytes(), text].concat()
}

#[test]
fn bytes_in_come_back_as_bytes() {
    let server = server();
    let blob = floats(&[1.5, f32::NAN, f32::NEG_INFINITY, 3.0]);
    let header = json!({
        "inputs": [{"name": "INPUT0", "shape": [1, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16}}],
        "outputs": [{"name": "OUTPUT0", "parameters": {"binary_data": true}}]
    });
    let response = infer(&server, "echo", &header, &blob);
    let (json, bytes) = parts(&response);
    assert_eq!(response.header("content-type"), Some("application/octet-stream"));
    assert_eq!(json["outputs"][0]["parameters"], json!({"binary_data_size": 16}));
    assert!(json["outputs"][0].get("data").is_none());
    assert_eq!(bytes, blob);
}

#[test]
fn json_in_may_come_back_as_bytes_and_bytes_in_as_json() {
    let server = server();
    let json_in = json!({
        "parameters": {"binary_data_output": true},
        "inputs": [{"name": "INPUT0", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]
    });
    let response = server.client().post("/v2/models/echo/infer", &json_in).expect("an answer");
    assert_eq!(parts(&response).1, floats(&[1.0, 2.0]));
    let bytes_in = json!({
        "inputs": [{"name": "INPUT0", "shape": [1, 2], "datatype": "FP32", "parameters": {"binary_data_size": 8}}]
    });
    let response = infer(&server, "echo", &bytes_in, &floats(&[1.0, 2.0]));
    assert_eq!(response.json()["outputs"][0]["data"], json!([1.0, 2.0]));
}

#[test]
fn strings_of_any_bytes_pass() {
    let server = server();
    let blob = [string(b"one"), string(b""), string(&[0, 255, 10])].concat();
    let header = json!({
        "inputs": [{
            "name": "INPUT0", "shape": [3], "datatype": "BYTES", "parameters": {"binary_data_size": blob.len()}
        }],
        "outputs": [{"name": "OUTPUT0", "parameters": {"binary_data": true}}]
    });
    assert_eq!(parts(&infer(&server, "strings", &header, &blob)).1, blob);
}

#[test]
fn strings_pass_as_json() {
    let server = server();
    let data = json!(["one", "", "zwölf \"quoted\"\n"]);
    let body = json!({"inputs": [{"name": "INPUT0", "shape": [3], "datatype": "BYTES", "data": data}]});
    let response = server.client().post("/v2/models/strings/infer", &body).expect("an answer");
    assert_eq!(response.json()["outputs"][0]["data"], data);
}

#[test]
fn a_large_tensor_passes_unchanged() {
    let server = server();
    let count = 4 << 20;
    let blob: Vec<u8> = (0..count).flat_map(|number: u32| number.to_le_bytes()).collect();
    let header = json!({
        "inputs": [{
            "name": "INPUT0", "shape": [1, count], "datatype": "FP32", "parameters": {"binary_data_size": blob.len()}
        }],
        "outputs": [{"name": "OUTPUT0", "parameters": {"binary_data": true}}]
    });
    let response = infer(&server, "echo", &header, &blob);
    assert!(parts(&response).1 == blob, "the bytes differ");
}

#[test]
fn a_body_without_json_is_the_one_input_itself() {
    let server = server();
    let blob = floats(&[4.0, 5.0]);
    let headers = [(LENGTH_HEADER, "0")];
    let response =
        server.client().request("POST", "/v2/models/echo/infer", &headers, &blob).expect("an answer");
    let (json, bytes) = parts(&response);
    assert_eq!(json["outputs"][0]["shape"], json!([1, 2]));
    assert_eq!(bytes, blob);
}

#[test]
fn too_few_and_too_many_bytes_are_refused() {
    let server = server();
    let header = json!({
        "inputs": [{"name": "INPUT0", "shape": [1, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16}}]
    });
    let short = infer(&server, "echo", &header, &[0; 10]);
    assert_eq!(short.status, 400);
    assert_eq!(
        short.error(),
        "unexpected size for input 'INPUT0', expecting 6 additional bytes for model 'echo'"
    );
    let long = infer(&server, "echo", &header, &[0; 20]);
    assert_eq!(
        (long.status, long.error().as_str()),
        (400, "unexpected additional input data for model 'echo'")
    );
}

#[test]
fn a_header_length_that_lies_is_refused() {
    let server = server();
    for (value, expected) in [
        ("nine", "Unable to parse Inference-Header-Content-Length, got: nine"),
        ("-1", "inference header size should be in range (0, 2), got: -1"),
        ("3", "inference header size should be in range (0, 2), got: 3"),
    ] {
        let headers = [(LENGTH_HEADER, value)];
        let response =
            server.client().request("POST", "/v2/models/echo/infer", &headers, b"{}").expect("an answer");
        assert_eq!((response.status, response.error().as_str()), (400, expected));
    }
}
