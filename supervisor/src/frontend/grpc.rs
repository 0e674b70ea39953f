//! gRPC: the inference service and the standard health service.
//!
//! [`GrpcFrontend`] serves connections; [`service`] is the service method by method, the other files hold what the
//! methods do. tonic gives the messages and the framing; connections, limits and draining are the same as for HTTP
//! ([`super::listen`]), so tonic's own server is not used.

mod contents;
mod convert;
mod deadline;
mod health;
mod infer;
mod inflate;
mod message;
mod metadata;
mod receive;
mod service;
mod stream;
mod transport;
mod unary;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use nereid_proto::health::health_server::HealthServer;
use nereid_proto::inference::grpc_inference_service_server::GrpcInferenceServiceServer;
use tokio::net::{TcpListener, TcpStream};
use tonic::Status;
use tonic::codegen::{CompressionEncoding, Service};

use super::Upstream;
use super::forward::ForwardPattern;
use super::listen::{self, Shutdown};
use super::restrict::{Category, Restrictions};
use receive::{MESSAGE_SIZE_MAX, Packing, Receiving};
use service::InferenceService;
use transport::Transport;

/// What a client may send of one call before it is read. Large, or large tensors stall on every round trip.
const STREAM_WINDOW: u32 = 16 * 1024 * 1024;
/// The same for all calls of a connection.
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;
/// Large frames for large tensors.
const FRAME_SIZE_MAX: u32 = 1024 * 1024;
/// Calls of one connection that run at once.
const CALLS_MAX: u32 = 16 * 1024;
/// Bytes that the metadata of a call may have.
const METADATA_SIZE_MAX: u32 = 64 * 1024;
/// Bytes of one call's reply that wait for the client to read.
const SEND_BUFFER_SIZE: usize = 1024 * 1024;

/// How gRPC is served.
#[derive(Clone, Debug)]
pub struct GrpcSettings {
    /// `--grpc-restricted-protocol`; the headers carry their prefix already.
    pub restrictions: Restrictions,
    /// `--grpc-header-forward-pattern`.
    pub forward: Option<ForwardPattern>,
    /// Whether inference responses are packed for clients that accept it.
    pub compress_responses: bool,
    /// `--grpc-keepalive-time`: a connection without traffic for this long is probed.
    pub keepalive_time: Duration,
    /// `--grpc-keepalive-timeout`: a probe without an answer for this long ends the connection.
    pub keepalive_timeout: Duration,
    /// `--grpc-max-connection-age`: a connection this old takes no more calls.
    pub connection_age_max: Option<Duration>,
    /// `--grpc-max-connection-age-grace`: what runs then may take this long; for ever without it.
    pub connection_age_grace: Option<Duration>,
}

/// The gRPC face of a server.
pub struct GrpcFrontend<U> {
    upstream: Arc<U>,
    settings: GrpcSettings,
    shutdown: Shutdown,
}

impl<U> fmt::Debug for GrpcFrontend<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcFrontend").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<U: Upstream> GrpcFrontend<U> {
    /// A frontend for `upstream` that takes no inference after `shutdown`.
    #[must_use]
    pub fn new(upstream: Arc<U>, settings: GrpcSettings, shutdown: Shutdown) -> Arc<Self> {
        Arc::new(Self { upstream, settings, shutdown })
    }

    /// Serves connections until shutdown, then finishes the calls that are running. Dropping the future ends all
    /// connections at once.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) {
        let services = Services::new(&self);
        listen::accept(listener, self.shutdown.clone(), |stream, shutdown| {
            connection(services.clone(), stream, shutdown)
        })
        .await;
    }

    fn is_stopping(&self) -> bool {
        self.shutdown.is_requested()
    }

    /// `header` finds the value of one of the call's headers.
    fn check_restricted<'h>(
        &self,
        category: Category,
        header: impl FnOnce(&str) -> Option<&'h [u8]>,
    ) -> Result<(), Status> {
        match self.settings.restrictions.missing(category, header) {
            None => Ok(()),
            Some(name) => {
                Err(Status::unavailable(format!("This protocol is restricted, expecting header '{name}'")))
            }
        }
    }
}

/// What is sent back for a call.
#[derive(Debug)]
enum Reply {
    /// An inference, from where its tensors lie.
    Infer(unary::Pieces),
    /// Everything else.
    Library(tonic::body::Body),
}

/// The services as tonic wraps them, cheap to clone for each call.
struct Services<U: Upstream> {
    frontend: Arc<GrpcFrontend<U>>,
    inference: GrpcInferenceServiceServer<InferenceService<U>>,
    health: HealthServer<GrpcFrontend<U>>,
}

impl<U: Upstream> Clone for Services<U> {
    fn clone(&self) -> Self {
        Self {
            frontend: Arc::clone(&self.frontend),
            inference: self.inference.clone(),
            health: self.health.clone(),
        }
    }
}

impl<U: Upstream> Services<U> {
    fn new(frontend: &Arc<GrpcFrontend<U>>) -> Self {
        let mut inference = GrpcInferenceServiceServer::new(InferenceService::new(Arc::clone(frontend)))
            .max_decoding_message_size(MESSAGE_SIZE_MAX)
            .max_encoding_message_size(MESSAGE_SIZE_MAX);
        if frontend.settings.compress_responses {
            inference = inference
                .send_compressed(CompressionEncoding::Gzip)
                .send_compressed(CompressionEncoding::Deflate);
        }
        Self {
            frontend: Arc::clone(frontend),
            inference,
            health: HealthServer::from_arc(Arc::clone(frontend)),
        }
    }

    /// Answers one call, within the time that the client gives it.
    async fn call<B>(self, mut request: Request<B>) -> Response<Reply>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<tonic::codegen::StdError>,
    {
        let timeout = deadline::timeout(request.headers());
        let packing = Packing::take(request.headers_mut());
        let upstream = Arc::clone(&self.frontend.upstream);
        let request = request.map(|body| Receiving::new(upstream, body, packing));
        let Some(timeout) = timeout else { return self.dispatch(request).await };
        match tokio::time::timeout(timeout, self.dispatch(request)).await {
            Ok(response) => response,
            Err(_) => Status::deadline_exceeded("Deadline Exceeded").into_http(),
        }
    }

    async fn dispatch<B>(mut self, request: Request<Receiving<U, B>>) -> Response<Reply>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<tonic::codegen::StdError>,
    {
        let path = request.uri().path();
        // The library packs responses.
        if path == unary::PATH && !self.frontend.settings.compress_responses {
            return self.frontend.unary(request).await;
        }
        let answered: Result<_, Infallible> = if path.starts_with("/inference.GRPCInferenceService/") {
            self.inference.call(request).await
        } else if path.starts_with("/grpc.health.v1.Health/") {
            self.health.call(request).await
        } else {
            Ok(Status::unimplemented("unknown service").into_http())
        };
        match answered {
            Ok(response) => response.map(Reply::Library),
            Err(never) => match never {},
        }
    }
}

async fn connection<U: Upstream>(services: Services<U>, stream: TcpStream, mut shutdown: Shutdown) {
    let settings = services.frontend.settings.clone();
    let transport = Transport::new(stream);
    let service = service_fn(move |request: Request<Incoming>| {
        let call = services.clone().call(request);
        async { Ok::<_, Infallible>(call.await) }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_SIZE_MAX)
        .max_concurrent_streams(CALLS_MAX)
        .max_header_list_size(METADATA_SIZE_MAX)
        .max_send_buf_size(SEND_BUFFER_SIZE)
        .keep_alive_interval(settings.keepalive_time)
        .keep_alive_timeout(settings.keepalive_timeout)
        .serve_connection(transport.clone(), service);
    tokio::pin!(connection);
    let grace = tokio::select! {
        biased;
        ended = transport::drive(connection.as_mut(), &transport) => return log_end(ended),
        () = shutdown.requested() => None,
        () = after(settings.connection_age_max) => settings.connection_age_grace,
    };
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        biased;
        ended = transport::drive(connection, &transport) => log_end(ended),
        () = after(grace) => {}
    }
}

fn log_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!("a gRPC connection ended: {error}");
    }
}

/// Passes after some time, or never.
async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
