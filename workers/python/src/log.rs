//! A model's log lines, on their way to the supervisor.
//!
//! The harness owns the socket; this module only remembers its logger, since Python calls come from anywhere.

use nereid_worker::{Level, Logger};
use pyo3::prelude::*;
use std::{
    io::Write as _,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

static LOGGER: OnceLock<Logger> = OnceLock::new();
/// Set in a forked child: the socket is the parent's.
static FORKED: AtomicBool = AtomicBool::new(false);

/// From now on lines go to the supervisor.
pub(crate) fn set(logger: &Logger) {
    LOGGER.get_or_init(|| logger.clone());
}

/// Sends one line; without a supervisor it goes to stderr.
#[pyfunction]
pub(crate) fn log(py: Python<'_>, level: i32, message: String, file: String, line: u32) {
    let level = Level::try_from(level).unwrap_or(Level::Info);
    // The supervisor may be slow to read.
    py.detach(|| match LOGGER.get() {
        Some(logger) if !FORKED.load(Ordering::Relaxed) => logger.log_at(level, message, &file, line),
        _ => {
            let name = level.as_str_name();
            // Without stderr nobody can be told.
            let _written = writeln!(std::io::stderr(), "{name} {file}:{line}: {message}");
        }
    });
}

/// Told by a forked child of the worker.
#[pyfunction]
pub(crate) fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}
