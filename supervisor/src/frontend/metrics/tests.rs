use super::*;
use http_body_util::BodyExt;

async fn ask(method: &str, path: &str) -> (u16, String, Option<String>) {
    let frontend = MetricsFrontend::new(Arc::new(|| "up 1\n".to_owned()));
    let response = frontend.answer(&Request::builder().method(method).uri(path).body(()).unwrap());
    let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(text.to_vec()).unwrap(), kind)
}

#[tokio::test]
async fn metrics_are_text() {
    let (status, text, kind) = ask("GET", "/metrics").await;
    assert_eq!((status, text.as_str()), (200, "up 1\n"));
    assert_eq!(kind.as_deref(), Some("text/plain; charset=utf-8"));
}

#[tokio::test]
async fn other_paths_are_empty_and_other_methods_refused() {
    let (status, text, _) = ask("GET", "/").await;
    assert_eq!((status, text.as_str()), (200, ""));
    assert_eq!(ask("POST", "/metrics").await.0, 405);
}
