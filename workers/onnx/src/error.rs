//! How a failure of the library becomes an answer to the supervisor.
//!
//! Deliberately not here: its text, which is the library's own behind a fixed beginning (`crate::ffi::OrtError`).

use crate::ffi::OrtError;
use nereid_worker::WorkerError;

/// "onnx runtime error 6: …", as clients know it.
pub(crate) fn runtime_error(error: OrtError) -> WorkerError {
    WorkerError::internal(error.to_string())
}
