//! What a request or a load can fail with. The kinds are Triton's eight codes; the frontends map them to HTTP and
//! gRPC in one place.

use std::fmt;

use crate::time::Duration;

/// Triton's error codes, with its names and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ErrorKind {
    Unknown = 0,
    Internal = 1,
    NotFound = 2,
    InvalidArgument = 3,
    Unavailable = 4,
    Unsupported = 5,
    AlreadyExists = 6,
    Cancelled = 7,
}

impl ErrorKind {
    /// The word that Triton puts before a message: "Invalid argument", "Unavailable" and so on.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::Internal => "Internal",
            Self::NotFound => "Not found",
            Self::InvalidArgument => "Invalid argument",
            Self::Unavailable => "Unavailable",
            Self::Unsupported => "Unsupported",
            Self::AlreadyExists => "Already exists",
            Self::Cancelled => "Cancelled",
        }
    }
}

/// An error that a client or an operator sees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ServeError {
    pub kind: ErrorKind,
    pub message: String,
    /// When the same request may succeed, where that is known.
    pub retry_after: Option<Duration>,
}

macro_rules! constructors {
    ($($function:ident => $kind:ident),*) => {$(
        #[doc = concat!("An error of kind [`ErrorKind::", stringify!($kind), "`].")]
        pub fn $function(message: impl Into<String>) -> Self {
            Self { kind: ErrorKind::$kind, message: message.into(), retry_after: None }
        }
    )*};
}

impl ServeError {
    constructors! {
        unknown => Unknown,
        internal => Internal,
        not_found => NotFound,
        invalid => InvalidArgument,
        unavailable => Unavailable,
        unsupported => Unsupported,
        already_exists => AlreadyExists,
        cancelled => Cancelled
    }

    /// The same error, with a hint when to try again.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    /// The hint in whole seconds, rounded up and at least 1, as clients are told it.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let wait = self.retry_after?;
        Some((wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
    }

    /// As Triton prints a status: the code's word, a colon, the message.
    #[must_use]
    pub fn as_status(&self) -> impl fmt::Display + '_ {
        struct Status<'a>(&'a ServeError);
        impl fmt::Display for Status<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}: {}", self.0.kind.as_str(), self.0.message)
            }
        }
        Status(self)
    }
}
