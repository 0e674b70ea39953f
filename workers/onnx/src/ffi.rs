//! ONNX Runtime's C API behind safe types: the only unsafe code of this crate.
//!
//! The library is the user's own and is found at run time (`crate::library`), so that one binary serves every
//! release from 1.17 on, with whatever execution providers the user's wheel brings. What is wrapped is the little
//! that a worker needs: one environment, one session, tensors over memory that somebody else owns, `Run`.
//!
//! Deliberately not here: choosing the library, reading the model configuration, batching, and `IoBinding` (plain
//! `Run` takes preallocated outputs too, at less cost). Nothing here is ever unloaded: a process holds one model
//! and gives its memory back by ending.
//!
//! Numbers that the library hands out (type codes, error codes) are read as plain integers and never as the
//! bindings' enums, since a newer library may know more values than the bindings do.
#![expect(unsafe_code, reason = "calls into a C library through its function table")]

pub(crate) mod options;
pub(crate) mod run;
pub(crate) mod runtime;
pub(crate) mod session;
mod value;

#[cfg(test)]
mod tests;

use ort_sys::{OrtApi, OrtStatusPtr};
use std::ffi::{CStr, CString, c_char};

/// The oldest function table that has all that is used here; ONNX Runtime 1.17 and later provide it.
pub(crate) const API_VERSION: u32 = 17;

/// What the library answered instead of a result, as clients are used to reading it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("onnx runtime error {code}: {message}")]
pub(crate) struct OrtError {
    /// A number of the library's own error list; 2 is "invalid argument".
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl OrtError {
    /// The library's "invalid argument", for what is found wrong before it is asked.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }
}

/// The function table, valid until the process ends.
#[derive(Debug, Clone, Copy)]
struct Api(&'static OrtApi);

impl Api {
    /// Turns a status into a result and frees it.
    fn check(self, status: OrtStatusPtr) -> Result<(), OrtError> {
        if status.0.is_null() {
            return Ok(());
        }
        // SAFETY: the function returns a C enum, an `i32` in its calling convention; see the module's last paragraph.
        let error_code: unsafe extern "system" fn(*const ort_sys::OrtStatus) -> i32 =
            unsafe { std::mem::transmute(self.0.GetErrorCode) };
        // SAFETY: the status is not null and ours until it is released below.
        let code = unsafe { error_code(status.0) };
        // SAFETY: as above; the text lives as long as the status.
        let text = unsafe { (self.0.GetErrorMessage)(status.0) };
        let message = text_of(text).trim_end().to_owned();
        // SAFETY: ours, and not used again.
        unsafe { (self.0.ReleaseStatus)(status.0) };
        Err(OrtError { code, message })
    }
}

/// Copies a C string of the library's; null reads as empty.
fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the library's strings end in NUL, and each caller copies it while its owner is alive.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A string for the library; an inner NUL cannot be passed and is an error that quotes the text.
fn c_string(text: &str) -> Result<CString, OrtError> {
    CString::new(text).map_err(|_| OrtError::invalid(format!("'{}' has a NUL inside", text.escape_debug())))
}
