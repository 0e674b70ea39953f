//! The protocol as a client sees it, with a server behind it that returns its inputs.

use std::sync::atomic::Ordering;

use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

use super::*;
use crate::frontend::fake::Fake;
use crate::frontend::listen::Address;
use crate::frontend::restrict::{Category, Key};
use std::time::Duration;

fn settings() -> HttpSettings {
    HttpSettings { max_input_size: 1 << 20, restrictions: Restrictions::default(), forward: None }
}

fn frontend() -> Arc<HttpFrontend<Fake>> {
    HttpFrontend::new(Fake::new(), settings())
}

struct Answer {
    status: u16,
    headers: http::HeaderMap,
    body: Bytes,
}

impl Answer {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn ask(
    frontend: &HttpFrontend<Fake>,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Answer {
    let body = body.into();
    let mut request = Request::builder().method(method).uri(path).header("content-length", body.len());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let reply = frontend.handle(request.body(Full::new(body)).unwrap()).await;
    let (parts, body) = reply.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}

async fn get(path: &str) -> (u16, String) {
    let answer = ask(&frontend(), "GET", path, &[], "").await;
    (answer.status, answer.text().to_owned())
}

async fn post(path: &str, body: &'static str) -> (u16, String) {
    let answer = ask(&frontend(), "POST", path, &[], body).await;
    (answer.status, answer.text().to_owned())
}

const VECTOR: &str = r#"{"inputs":[{"name":"INPUT0","shape":[2],"datatype":"FP32","data":[1,0.1]}]}"#;

#[tokio::test]
async fn health_has_no_body() {
    for path in ["/v2/health/live", "/v2/health/ready", "/v2/models/identity/ready"] {
        assert_eq!(get(path).await, (200, String::new()), "{path}");
    }
    assert_eq!(
        get("/v2/models/loading/versions/1/ready").await,
        (400, "{\"error\":\"Model version not ready\"}".into())
    );
    assert_eq!(
        get("/v2/models/none/ready").await,
        (404, "{\"error\":\"Request for unknown model: 'none' is not found\"}".into())
    );
}

#[tokio::test]
async fn a_server_that_is_not_ready_or_exits_says_so() {
    let frontend = frontend();
    frontend.upstream.ready.store(false, Ordering::SeqCst);
    let answer = ask(&frontend, "GET", "/v2/health/ready", &[], "").await;
    assert_eq!((answer.status, answer.text()), (400, ""));
    frontend.upstream.live.store(false, Ordering::SeqCst);
    for path in ["/v2/health/live", "/v2/health/ready"] {
        let answer = ask(&frontend, "GET", path, &[], "").await;
        assert_eq!((answer.status, answer.text()), (503, "{\"error\":\"Server exiting\"}"));
    }
}

#[tokio::test]
async fn metadata_is_json_in_the_order_that_clients_know() {
    assert_eq!(
        get("/v2").await.1,
        r#"{"name":"fake","version":"1.2.3","extensions":["binary_tensor_data","statistics"]}"#
    );
    assert_eq!(
        get("/v2/models/identity").await.1,
        r#"{"name":"identity","versions":["1"],"platform":"fake","inputs":[{"name":"INPUT0","datatype":"FP32","shape":[-1,16]}],"outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[-1,16]}]}"#
    );
    assert_eq!(get("/v2/models/identity/config").await, (200, "{\"name\":\"fake\"}".into()));
    let answer = ask(&frontend(), "GET", "/v2", &[], "").await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn statistics_tell_every_counter() {
    let zero = r#"{"count":0,"ns":0}"#;
    assert_eq!(
        get("/v2/models/stats").await.1,
        format!(
            r#"{{"model_stats":[{{"name":"identity","version":"1","last_inference":0,"inference_count":2,"execution_count":1,"inference_stats":{{"success":{{"count":2,"ns":300}},"fail":{zero},"queue":{zero},"compute_input":{zero},"compute_infer":{zero},"compute_output":{zero},"cache_hit":{zero},"cache_miss":{zero}}},"response_stats":{{}},"batch_stats":[],"memory_usage":[]}}]}}"#
        )
    );
    assert_eq!(
        get("/v2/models/none/stats").await,
        (400, "{\"error\":\"requested model 'none' is not available\"}".into())
    );
}

#[tokio::test]
async fn wrong_paths_and_methods_are_told_apart() {
    assert_eq!(get("/v2/").await, (404, "{\"error\":\"Not Found\"}".into()));
    let answer = ask(&frontend(), "POST", "/v2/health/live", &[], "").await;
    assert_eq!((answer.status, answer.text()), (405, "{\"error\":\"Method Not Allowed\"}"));
    assert_eq!(answer.header("allow"), Some("GET, HEAD, OPTIONS"));
    let answer = ask(&frontend(), "OPTIONS", "/v2/models/identity/infer", &[], "").await;
    assert_eq!((answer.status, answer.header("allow")), (204, Some("POST, OPTIONS")));
    assert_eq!(get("/v2/models/identity/infer").await.0, 405);
    assert_eq!(ask(&frontend(), "HEAD", "/v2", &[], "").await.status, 200);
}

#[tokio::test]
async fn what_is_not_served_yet_says_so() {
    let (status, text) = post("/v2/repository/index", "").await;
    assert_eq!(status, 501);
    assert_eq!(text, "{\"error\":\"model control is not supported yet\"}");
}

#[tokio::test]
async fn a_version_that_cannot_be_is_refused() {
    let (status, text) = get("/v2/models/identity/versions/99999999999999999999").await;
    assert_eq!(status, 400);
    assert!(text.contains("failed to get model version from specified version string"), "{text}");
    assert_eq!(get("/v2/models/identity/versions/2").await.0, 404);
}

#[tokio::test]
async fn json_in_json_out() {
    assert_eq!(
        post("/v2/models/identity/infer", VECTOR).await,
        (
            200,
            r#"{"model_name":"identity","model_version":"1","outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[2],"data":[1.0,0.10000000149011612]}]}"#
                .into()
        )
    );
}

#[tokio::test]
async fn binary_in_binary_out() {
    let json = r#"{"inputs":[{"name":"INPUT0","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}"#;
    let body = [json.as_bytes(), &1.5_f32.to_le_bytes()].concat();
    let length = json.len().to_string();
    let headers = [("Inference-Header-Content-Length", length.as_str())];
    let answer = ask(&frontend(), "POST", "/v2/models/identity/infer", &headers, body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    let length: usize = answer.header("inference-header-content-length").unwrap().parse().unwrap();
    assert_eq!(answer.body[length..], 1.5_f32.to_le_bytes());
    assert!(answer.body[..length].ends_with(br#""parameters":{"binary_data_size":4}}]}"#));
}

#[tokio::test]
async fn a_body_without_json_is_the_one_input() {
    let headers = [("Inference-Header-Content-Length", "0")];
    let answer =
        ask(&frontend(), "POST", "/v2/models/identity/infer", &headers, 2.5_f32.to_le_bytes().to_vec()).await;
    assert!(answer.body.ends_with(&2.5_f32.to_le_bytes()));
    let answer = ask(&frontend(), "POST", "/v2/models/pair/infer", &headers, "abcd").await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("Raw request must only have 1 input (found 1) to be deduced but got 2"));
}

#[tokio::test]
async fn models_that_cannot_be_asked_are_refused() {
    assert_eq!(
        post("/v2/models/decoupled/infer", VECTOR).await,
        (
            501,
            "{\"error\":\"HTTP end point doesn't support models with decoupled transaction policy\"}".into()
        )
    );
    assert_eq!(post("/v2/models/none/infer", "junk").await.0, 404);
    assert_eq!(
        post("/v2/models/broken/infer", VECTOR).await,
        (500, "{\"error\":\"the model is broken\"}".into())
    );
}

#[tokio::test]
async fn too_much_input_is_refused_with_the_flag_to_raise() {
    let large = Bytes::from(vec![b' '; (1 << 20) + 1]);
    let path = "/v2/models/identity/infer";
    let answer = ask(&frontend(), "POST", path, &[], large.clone()).await;
    assert_eq!(answer.status, 400);
    assert_eq!(
        answer.text(),
        "{\"error\":\"request JSON size of 1048577 bytes exceeds the maximum allowed input size of 1048576 bytes. Use \
         --http-max-input-size to increase the limit.\"}"
    );
    let answer =
        ask(&frontend(), "POST", path, &[("inference-header-content-length", "0")], large.clone()).await;
    assert!(answer.text().contains("Raw input has a byte_size (1048577 bytes) that exceeds"));
    let answer =
        ask(&frontend(), "POST", path, &[("inference-header-content-length", "1048577")], large).await;
    assert!(answer.text().contains("request JSON size of 1048577 bytes"));
}

#[tokio::test]
async fn bodies_are_unpacked_and_packed() {
    let path = "/v2/models/identity/infer";
    let packed =
        compress::compress(compress::Encoding::Gzip, [&Bytes::from_static(VECTOR.as_bytes())]).unwrap();
    let headers = [("content-encoding", "gzip"), ("accept-encoding", "deflate")];
    let answer = ask(&frontend(), "POST", path, &headers, packed).await;
    assert_eq!((answer.status, answer.header("content-encoding")), (200, Some("deflate")));
    let text = compress::decompress(&answer.body, 1 << 20).unwrap();
    assert!(text.starts_with(b"{\"model_name\":\"identity\""));
    let answer = ask(&frontend(), "POST", path, &[("content-encoding", "br")], VECTOR).await;
    assert_eq!((answer.status, answer.text()), (501, "{\"error\":\"Unsupported compression type\"}"));
    assert_eq!(answer.header("accept-encoding"), Some("gzip, deflate"));
    // Errors are never packed.
    let answer = ask(&frontend(), "POST", path, &[("accept-encoding", "gzip")], "{").await;
    assert_eq!((answer.status, answer.header("content-encoding")), (500, None));
}

#[tokio::test]
async fn large_json_is_decoded_too() {
    let values = vec!["1.5"; 100_000].join(",");
    let body = format!(
        "{{\"inputs\":[{{\"name\":\"INPUT0\",\"shape\":[100000],\"datatype\":\"FP32\",\"data\":[{values}]}}]}}"
    );
    let answer = ask(&frontend(), "POST", "/v2/models/identity/infer", &[], body).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains(&values));
}

#[tokio::test]
async fn a_restricted_api_wants_its_header() {
    let mut settings = settings();
    assert!(settings.restrictions.add(Category::Inference, Key::new("x-key".into(), "v".into())));
    let frontend = HttpFrontend::new(Fake::new(), settings);
    let path = "/v2/models/identity/infer";
    let answer = ask(&frontend, "POST", path, &[], VECTOR).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.text(), "{\"error\":\"This API is restricted, expecting header 'x-key'\"}");
    assert_eq!(ask(&frontend, "POST", path, &[("X-Key", "v")], VECTOR).await.status, 200);
    assert_eq!(ask(&frontend, "GET", "/v2/health/live", &[], "").await.status, 200);
}

#[tokio::test]
async fn headers_that_match_become_parameters() {
    let settings = HttpSettings { forward: Some(ForwardPattern::new("^my_").unwrap()), ..settings() };
    let frontend = HttpFrontend::new(Fake::new(), settings);
    let headers = [("my_header", "x"), ("other", "y")];
    let answer = ask(&frontend, "POST", "/v2/models/identity/infer", &headers, VECTOR).await;
    assert!(answer.text().contains(r#""parameters":{"my_header":"x"},"#), "{}", answer.text());
}

/// A frontend on a port of its own.
struct Served {
    fake: Arc<Fake>,
    address: std::net::SocketAddr,
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

async fn serve() -> Served {
    let address = Address { host: "127.0.0.1".into(), port: 0, reuse_port: false };
    let listener = listen::bind(&address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopping) = watch::channel(false);
    let frontend = frontend();
    let fake = Arc::clone(&frontend.upstream);
    let task = tokio::spawn(frontend.serve(listener, Shutdown::new(stopping)));
    Served { fake, address, stop, task }
}

fn infer_request(model: &str, body: &str) -> String {
    format!(
        "POST /v2/models/{model}/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads until `end` has come.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains(end) {
        let mut buffer = [0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut buffer));
        let count = read.await.expect("the end never came").unwrap();
        assert!(count > 0, "the connection ended after {}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(text).unwrap()
}

async fn until(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.expect("the condition never became true");
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let served = serve().await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    for _ in 0..3 {
        stream.write_all(infer_request("identity", VECTOR).as_bytes()).await.unwrap();
        let text = read_until(&mut stream, "]}]}").await;
        assert!(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), "{text}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_inference() {
    let served = serve().await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(infer_request("never", VECTOR).as_bytes()).await.unwrap();
    until(|| served.fake.running.load(Ordering::SeqCst) == 1).await;
    drop(stream);
    until(|| served.fake.running.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn shutdown_ends_idle_connections_and_waits_for_running_ones() {
    let served = serve().await;
    let mut idle = TcpStream::connect(served.address).await.unwrap();
    let mut busy = TcpStream::connect(served.address).await.unwrap();
    let request = infer_request("identity", VECTOR);
    let (first, second) = request.split_at(request.len() - 5);
    busy.write_all(first.as_bytes()).await.unwrap();
    // A second request on the idle connection shows that both are known.
    idle.write_all(infer_request("identity", VECTOR).as_bytes()).await.unwrap();
    read_until(&mut idle, "]}]}").await;
    served.stop.send(true).unwrap();
    assert_eq!(idle.read(&mut [0; 16]).await.unwrap(), 0);
    busy.write_all(second.as_bytes()).await.unwrap();
    let text = read_until(&mut busy, "]}]}").await;
    assert!(text.contains("Connection: close"), "{text}");
    served.task.await.unwrap();
}

#[tokio::test]
async fn a_chunked_body_is_understood() {
    let served = serve().await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let (first, second) = VECTOR.split_at(20);
    let request = format!(
        "POST /v2/models/identity/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(read_until(&mut stream, "]}]}").await.starts_with("HTTP/1.1 200"));
}
