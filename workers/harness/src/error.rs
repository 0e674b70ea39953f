//! What a backend can answer instead of a result: one of the protocol's codes and a message for people.
//!
//! Deliberately not here: errors of the sockets. Those end the worker and are never a request's answer.

use crate::text::cut;
use nereid_proto::worker::{ErrorCode, Failure};

/// A failure of a load, a readiness check or a request, as the client or the operator will see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WorkerError {
    /// The kind, which decides the HTTP status and the gRPC code.
    pub code: ErrorCode,
    /// Which thing, which value, which limit, and what to do.
    pub message: String,
}

macro_rules! constructors {
    ($($function:ident => $code:ident),* $(,)?) => {$(
        #[doc = concat!("An error of code [`ErrorCode::", stringify!($code), "`].")]
        pub fn $function(message: impl Into<String>) -> Self {
            Self::new(ErrorCode::$code, message)
        }
    )*};
}

impl WorkerError {
    /// An error of any code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    constructors! {
        unknown => Unknown,
        internal => Internal,
        not_found => NotFound,
        invalid_argument => InvalidArg,
        unavailable => Unavailable,
        unsupported => Unsupported,
        already_exists => AlreadyExists,
        cancelled => Cancelled,
    }
}

impl From<WorkerError> for Failure {
    fn from(error: WorkerError) -> Self {
        Self { code: error.code.into(), message: cut(error.message) }
    }
}
