//! Exit codes of the server. All below 128, which shells use for signals.

use std::process::ExitCode;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Asked to stop, and everything was finished in time.
    Ok = 0,
    /// The command line, the configuration or the start was wrong; Triton's code for the same.
    Failed = 1,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
