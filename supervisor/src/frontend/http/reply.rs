//! Replies and how errors become one.

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use nereid_core::error::ServeError;

use super::body::ReplyBody;
use super::json::write::write_string;
use super::router::Methods;
use crate::frontend::status;

/// A reply on its way to the client.
pub(crate) type Reply = Response<ReplyBody>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A reply without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(ReplyBody::default());
    *reply.status_mut() = status;
    reply
}

/// A reply of JSON text.
pub(crate) fn json(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(ReplyBody::from(text.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    reply
}

/// A reply that tells an error: `{"error":"<message>"}`.
pub(crate) fn message(status: StatusCode, message: &str) -> Reply {
    let mut text = Vec::with_capacity(message.len() + 16);
    text.extend_from_slice(b"{\"error\":");
    write_string(&mut text, message.as_bytes());
    text.push(b'}');
    json(status, text)
}

/// A reply that tells an error of the server behind.
pub(crate) fn error(error: &ServeError) -> Reply {
    let reply = message(status::http(error.kind), &error.message);
    match error.retry_after_seconds() {
        Some(seconds) => with(reply, RETRY_AFTER, HeaderValue::from(seconds)),
        None => reply,
    }
}

/// The path is none of the protocol.
pub(crate) fn not_found() -> Reply {
    message(StatusCode::NOT_FOUND, "Not Found")
}

/// The path is right, the method is not.
pub(crate) fn method_not_allowed(methods: Methods) -> Reply {
    let mut reply = message(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods.allow()));
    reply
}

/// What may be asked at this path.
pub(crate) fn options(methods: Methods) -> Reply {
    let mut reply = empty(StatusCode::NO_CONTENT);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods.allow()));
    reply
}

/// Adds a header.
pub(crate) fn with(mut reply: Reply, name: HeaderName, value: HeaderValue) -> Reply {
    reply.headers_mut().insert(name, value);
    reply
}

/// Ends the connection after the reply.
pub(crate) fn closing(reply: Reply) -> Reply {
    with(reply, CONNECTION, HeaderValue::from_static("close"))
}
