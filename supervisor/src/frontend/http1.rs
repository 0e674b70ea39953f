//! One HTTP/1.1 connection, from its first byte to its end or the server's: what all HTTP ports have in common.

use std::error::Error;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::HttpService;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use super::listen::Shutdown;

/// A connection that sends no complete head for this long is closed; it may be idle, half open or slow.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(300);

/// Serves a connection until the client closes it, or until shutdown and the end of the request that is running.
/// `name` is how the log calls it.
pub(crate) async fn serve<S, B>(
    mut builder: Builder,
    stream: TcpStream,
    service: S,
    mut shutdown: Shutdown,
    name: &str,
) where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let connection = builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT_MAX)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = shutdown.requested() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("{name} ended: {error}");
    }
}
