//! Kind of error → what clients see. The one table for HTTP and gRPC.

use http::StatusCode;
use nereid_core::error::{ErrorKind, ServeError};
use tonic::{Code, Status};

/// Bytes of an error text that gRPC carries; each may become three on the wire.
const GRPC_MESSAGE_MAX: usize = 2048;
/// The trailer that says in how many seconds the same request may succeed: the name of HTTP's header for it.
const RETRY_AFTER: &str = "retry-after";

/// The HTTP status and the gRPC code of a kind of error.
#[must_use]
pub const fn codes(kind: ErrorKind) -> (StatusCode, Code) {
    match kind {
        ErrorKind::Unknown => (StatusCode::BAD_REQUEST, Code::Unknown),
        ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, Code::Internal),
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, Code::NotFound),
        ErrorKind::InvalidArgument => (StatusCode::BAD_REQUEST, Code::InvalidArgument),
        ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
        ErrorKind::Unsupported => (StatusCode::NOT_IMPLEMENTED, Code::Unimplemented),
        ErrorKind::AlreadyExists => (StatusCode::BAD_REQUEST, Code::AlreadyExists),
        ErrorKind::Cancelled => (StatusCode::BAD_REQUEST, Code::Cancelled),
    }
}

/// The HTTP status of a kind of error.
#[must_use]
pub const fn http(kind: ErrorKind) -> StatusCode {
    codes(kind).0
}

/// An error as gRPC tells it.
#[must_use]
pub fn grpc(error: ServeError) -> Status {
    let retry_after = error.retry_after_seconds();
    let mut status = Status::new(codes(error.kind).1, cut(error.message));
    if let Some(seconds) = retry_after {
        status.metadata_mut().insert(RETRY_AFTER, seconds.into());
    }
    status
}

/// Clients refuse trailers of more than some kilobytes and then tell of a broken call instead of the error.
fn cut(mut message: String) -> String {
    if message.len() > GRPC_MESSAGE_MAX {
        message.truncate(message.floor_char_boundary(GRPC_MESSAGE_MAX));
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests;
