//! Log lines to stderr, for journald to keep.
//!
//! Levels follow Triton's flags. `RUST_LOG` overrides them, for those who look for a fault in the server itself.

mod writer;

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

pub use self::writer::Flush;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    pub info: bool,
    pub warning: bool,
    pub error: bool,
    /// `--log-verbose`: 1 and above adds debug lines, 2 and above everything.
    pub verbose: u32,
}

/// Starts logging. Called once. What was logged is written when the guard is dropped, at the latest: keep it until the
/// end.
pub fn start(levels: Levels) -> io::Result<Flush> {
    let level = match levels {
        Levels { verbose: 2.., .. } => LevelFilter::TRACE,
        Levels { verbose: 1, .. } => LevelFilter::DEBUG,
        Levels { info: true, .. } => LevelFilter::INFO,
        Levels { warning: true, .. } => LevelFilter::WARN,
        Levels { error: true, .. } => LevelFilter::ERROR,
        _ => LevelFilter::OFF,
    };
    let filter = EnvFilter::builder().with_default_directive(level.into()).from_env_lossy();
    let (lines, flush) = writer::start(io::stderr())?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || lines.clone())
        .with_ansi(false)
        .init();
    Ok(flush)
}
