//! `nereid_worker._native`: the worker's loop and tensors, inside the user's own Python interpreter.
//!
//! The supervisor starts `python -m nereid_worker`. The package prepares the interpreter and calls [`run`], which serves
//! until the end of the process through the same harness as every other worker. In the order of a request: `execute`
//! makes `request`s of `tensor`s, calls the model, and writes its `response`s; `exchange` takes those that senders send.
//! `retention` and `ffi::lent` decide who owns the memory of an input.
//!
//! The module is built once for every CPython from 3.11 on. Deliberately not here: finding and importing the model, and
//! everything of its API that is plain Python; that is the package's.

mod backend;
mod completion;
mod dtype;
mod exceptions;
mod exchange;
mod execute;
mod ffi;
mod leave;
mod log;
mod parameters;
mod request;
mod response;
mod retention;
mod strings;
mod tensor;

use backend::PythonBackend;
use nereid_worker::About;
use pyo3::prelude::*;
use std::process::ExitCode;

/// Serves over the inherited sockets until the supervisor says stop; returns the exit code of the process.
#[pyfunction]
fn run(py: Python<'_>, host: Py<PyAny>) -> PyResult<u8> {
    let python = py.version_info();
    let about = About {
        kind: "python".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        runtime: format!("CPython {}.{}.{}", python.major, python.minor, python.patch),
    };
    let exit = nereid_worker::run(about, PythonBackend::new(host));
    // The code is opaque; the process that has to return it is Python's.
    Ok((0..=u8::MAX).find(|code| ExitCode::from(*code) == exit).unwrap_or(u8::MAX))
}

/// The extension module.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::{
        exceptions::TritonModelException,
        exchange::InferenceResponseSender,
        log::{forked, log},
        request::{InferenceRequest, InferenceTrace, PreferredMemory},
        response::{Code, InferenceResponse, TritonError},
        run,
        tensor::Tensor,
    };
}
