//! What the tests of several modules need: the library, found as in production, and the committed models.
//!
//! A machine without ONNX Runtime fails these tests, with the message that an operator would read.

use crate::{
    ffi::{
        options::SessionOptions,
        runtime::{Runtime, Severity},
        session::Session,
    },
    library::{self, Surroundings},
};
use std::path::PathBuf;

pub(crate) fn runtime() -> &'static Runtime {
    let found = library::locate(&[], &Surroundings::own());
    let library = found.unwrap_or_else(|error| panic!("these tests need ONNX Runtime. {error}"));
    let sink = |severity: Severity, line: &str| eprintln!("onnxruntime: {severity:?}: {line}");
    Runtime::load(&library.file, Severity::Error, sink).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn model_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(format!("{name}.onnx"))
}

/// A session of one thread for a committed model.
pub(crate) fn session(name: &str) -> Session {
    let mut options = SessionOptions::new(runtime()).unwrap();
    options.set_intra_threads(1).unwrap();
    Session::open(&model_file(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}
