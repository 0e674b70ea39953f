//! The values of parameters: text in a configuration, numbers and switches here, with Triton's words for what is not.
//!
//! Deliberately not here: which values a parameter allows.

use nereid_worker::WorkerError;
use std::ffi::c_int;

pub(super) fn parse_bool(value: &str) -> Result<bool, WorkerError> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(refuse(value, "boolean")),
    }
}

pub(super) fn parse_int(value: &str) -> Result<c_int, WorkerError> {
    value.trim().parse().map_err(|_| refuse(value, "integral number"))
}

pub(super) fn parse_unsigned(value: &str) -> Result<u64, WorkerError> {
    value.trim().parse().map_err(|_| refuse(value, "unsigned long long integral number"))
}

fn refuse(value: &str, wanted: &str) -> WorkerError {
    WorkerError::invalid_argument(format!("failed to convert '{value}' to {wanted}"))
}
