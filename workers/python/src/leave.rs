//! A model that calls `sys.exit()` in `execute` ends its worker.
//!
//! It is the one exception that is not turned into an error: the model says that its process should not go on, and the
//! supervisor knows what to do about a dead worker. The code is the model's, as Python would have it.

use pyo3::{exceptions::PySystemExit, prelude::*};
use std::io::Write as _;

/// The exit code of an exit whose value is no number.
const OTHER: i32 = 1;

/// Ends the process if the error is an exit.
pub(crate) fn leave_if_asked(py: Python<'_>, error: &PyErr) {
    if !error.is_instance_of::<PySystemExit>(py) {
        return;
    }
    let value = error.value(py).getattr("code").ok().filter(|code| !code.is_none());
    let code = value.as_ref().map_or(0, |value| value.extract().unwrap_or(OTHER));
    let told = value.map_or_else(String::new, |value| value.to_string());
    for stream in ["stdout", "stderr"] {
        // What cannot be flushed is lost either way.
        let _flushed = py.import("sys").and_then(|sys| sys.getattr(stream)?.call_method0("flush"));
    }
    let _written =
        writeln!(std::io::stderr(), "the model called sys.exit({told}) in execute; its worker ends");
    leave(code);
}

#[expect(clippy::exit, reason = "the model asked for it, and there is nothing to unwind to that may go on")]
fn leave(code: i32) -> ! {
    std::process::exit(code)
}
