//! The ONNX Runtime worker: one process that holds one instance of one model.
//!
//! `backend` is what the harness calls. At load, `library` finds the user's own ONNX Runtime, `options` reads what the
//! model configuration asks for, `session` opens the model, `check` compares it with the configuration and `plan` works
//! out what every run needs; then `execute` answers batches. `ffi` is the library's C API, and the only unsafe code.
//!
//! Deliberately not here: sockets, shared memory and the life of the process (`nereid_worker`), and the `ort` crate,
//! whose safe interface copies what it is lent.

mod backend;
mod check;
mod element;
mod error;
mod execute;
mod ffi;
mod library;
mod options;
mod plan;
mod session;
#[cfg(test)]
mod testing;

use nereid_worker::{About, run};
use std::process::ExitCode;

/// The framework, as configurations name it.
const KIND: &str = "onnxruntime";

fn main() -> ExitCode {
    let about = About {
        kind: KIND.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        // Which one is known only when the model's settings are: the library is loaded with the first model.
        runtime: "ONNX Runtime".to_owned(),
    };
    run(about, backend::OnnxBackend::default())
}
