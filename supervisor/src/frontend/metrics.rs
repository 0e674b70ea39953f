//! The metrics port: `GET /metrics` and nothing else.
//!
//! What the text says is the caller's business; this file only serves it.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};

use super::listen::{self, Shutdown};

/// The exposition format that scrapers expect.
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Writes all metrics as text.
pub type Render = Arc<dyn Fn() -> String + Send + Sync>;

/// Serves metrics to scrapers.
#[derive(Clone)]
pub struct MetricsFrontend {
    render: Render,
}

impl fmt::Debug for MetricsFrontend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsFrontend").finish_non_exhaustive()
    }
}

impl MetricsFrontend {
    /// A frontend that answers with what `render` writes.
    #[must_use]
    pub fn new(render: Render) -> Self {
        Self { render }
    }

    /// Serves connections until shutdown.
    pub async fn serve(self, listener: TcpListener, shutdown: Shutdown) {
        listen::accept(listener, shutdown, |stream, shutdown| connection(self.clone(), stream, shutdown))
            .await;
    }

    fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        if *request.method() != Method::GET && *request.method() != Method::HEAD {
            let mut response =
                Response::new(Full::new(Bytes::from_static(b"{\"error\":\"Method Not Allowed\"}")));
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        // Other paths are empty rather than missing, as scrapers of Triton know it.
        let text = if request.uri().path() == "/metrics" { (self.render)() } else { String::new() };
        let mut response = Response::new(Full::new(Bytes::from(text)));
        response.headers_mut().insert(CONTENT_TYPE, TEXT);
        response
    }
}

async fn connection(frontend: MetricsFrontend, stream: TcpStream, shutdown: Shutdown) {
    let service = service_fn(|request| {
        let response = frontend.answer(&request);
        async { Ok::<_, Infallible>(response) }
    });
    super::http1::serve(http1::Builder::new(), stream, service, shutdown, "a metrics connection").await;
}

#[cfg(test)]
mod tests;
