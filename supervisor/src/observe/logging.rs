//! Log lines to stderr, for journald to keep.
//!
//! Levels follow Triton's flags. `RUST_LOG` overrides them, for those who look for a fault in the server itself.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    pub info: bool,
    pub warning: bool,
    pub error: bool,
    /// `--log-verbose`: 1 and above adds debug lines, 2 and above everything.
    pub verbose: u32,
}

/// Starts logging. Called once.
pub fn start(levels: Levels) {
    let level = match levels {
        Levels { verbose: 2.., .. } => LevelFilter::TRACE,
        Levels { verbose: 1, .. } => LevelFilter::DEBUG,
        Levels { info: true, .. } => LevelFilter::INFO,
        Levels { warning: true, .. } => LevelFilter::WARN,
        Levels { error: true, .. } => LevelFilter::ERROR,
        _ => LevelFilter::OFF,
    };
    let filter = EnvFilter::builder().with_default_directive(level.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
}
