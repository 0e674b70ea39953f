//! HTTP/1.1: the inference protocol as REST.
//!
//! [`HttpFrontend`] serves connections; [`router`] is the table of routes, one file each holds what a group of routes
//! does. Built on hyper without a web framework: the routes are few and the paths odd.

mod binary;
mod body;
mod compress;
mod health;
mod infer;
mod json;
mod metadata;
mod reply;
mod router;
mod statistics;
mod tensor;

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use hyper::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use nereid_core::error::ServeError;
use tokio::net::{TcpListener, TcpStream};

use super::Upstream;
use super::forward::ForwardPattern;
use super::listen::{self, Shutdown};
use super::restrict::Restrictions;
use reply::Reply;
use router::{Later, Route};

/// Bytes that the head of a request may have.
const HEAD_SIZE_MAX: usize = 64 * 1024;
/// Headers that a request may have.
const HEADERS_MAX: usize = 128;
/// The least that a connection reads at once and the most that it buffers.
const BUFFER_SIZE_MAX: usize = 512 * 1024;

/// How HTTP is served.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// `--http-max-input-size`: bytes of a JSON part, of a tensor in it, of a raw input, of an unpacked body.
    pub max_input_size: u64,
    /// `--http-restricted-api`.
    pub restrictions: Restrictions,
    /// `--http-header-forward-pattern`.
    pub forward: Option<ForwardPattern>,
}

/// The HTTP face of a server.
#[derive(Debug)]
pub struct HttpFrontend<U> {
    upstream: Arc<U>,
    settings: HttpSettings,
}

impl<U: Upstream> HttpFrontend<U> {
    /// A frontend for `upstream`.
    #[must_use]
    pub fn new(upstream: Arc<U>, settings: HttpSettings) -> Arc<Self> {
        Arc::new(Self { upstream, settings })
    }

    /// Serves connections until shutdown, then finishes the requests that are running. Dropping the future ends all
    /// connections at once.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, shutdown: Shutdown) {
        listen::accept(listener, shutdown, |stream, shutdown| {
            connection(Arc::clone(&self), stream, shutdown)
        })
        .await;
    }

    async fn handle<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes> + Unpin + Send,
    {
        // The path outlives the request's parts, which the body's reader takes.
        let uri = request.uri().clone();
        let Some(route) = router::route(uri.path()) else { return reply::not_found() };
        let headers = request.headers();
        let missing = self
            .settings
            .restrictions
            .missing(route.category(), |name| headers.get(name).map(http::HeaderValue::as_bytes));
        if let Some(name) = missing {
            let text = format!("This API is restricted, expecting header '{name}'");
            return reply::message(StatusCode::FORBIDDEN, &text);
        }
        if *request.method() == Method::OPTIONS {
            return reply::options(route.methods());
        }
        if !route.methods().contain(request.method()) {
            return reply::method_not_allowed(route.methods());
        }
        if let Route::Infer(path) = route {
            return infer::infer(self, request, path).await.unwrap_or_else(|reply| reply);
        }
        self.answer(route).unwrap_or_else(|error| reply::error(&error))
    }

    /// What needs no body.
    fn answer(&self, route: Route<'_>) -> Result<Reply, ServeError> {
        let upstream = &*self.upstream;
        match route {
            Route::Live => health::live(upstream),
            Route::Ready => health::ready(upstream),
            Route::ModelReady(path) => health::model_ready(upstream, path),
            Route::ServerMetadata => Ok(metadata::server(upstream)),
            Route::ModelMetadata(path) => metadata::model(upstream, path),
            Route::ModelConfig(path) => metadata::config(upstream, path),
            Route::Statistics => statistics::statistics(upstream, None),
            Route::ModelStatistics(path) => statistics::statistics(upstream, Some(path)),
            Route::Infer(_) => Err(ServeError::internal("inference needs the request's body")),
            Route::Later(later) => Err(ServeError::unsupported(match later {
                Later::Generate => "the generate extension is not supported yet",
                Later::TraceSettings => "trace settings are not supported yet",
                Later::LogSettings => "log settings are not supported yet",
                Later::RepositoryIndex | Later::RepositoryControl => "model control is not supported yet",
                Later::SharedMemoryStatus | Later::SharedMemoryChange => {
                    "shared memory regions are not supported yet"
                }
            })),
        }
    }
}

async fn connection<U: Upstream>(frontend: Arc<HttpFrontend<U>>, stream: TcpStream, shutdown: Shutdown) {
    let service = service_fn(|request| async { Ok::<_, Infallible>(frontend.handle(request).await) });
    let mut builder = http1::Builder::new();
    builder.max_headers(HEADERS_MAX).max_header_size(HEAD_SIZE_MAX).max_buf_size(BUFFER_SIZE_MAX);
    super::http1::serve(builder, stream, service, shutdown, "an HTTP connection").await;
}

#[cfg(test)]
mod tests;
