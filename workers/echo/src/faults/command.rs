//! The commands as text.

use super::lies::Lie;
use libc::{SIGKILL, SIGSTOP, SIGTERM, c_int};
use nereid_worker::{ErrorCode, WorkerError};
use std::{str::FromStr, time::Duration};

const MIB: usize = 1024 * 1024;

/// A fault with its argument.
#[derive(Clone, Debug)]
pub(super) enum Command {
    None,
    Exit(i32),
    Segv,
    Abort,
    Panic,
    Signal(c_int),
    Spin,
    Sleep,
    Delay(Duration),
    /// Bytes.
    Leak(usize),
    /// Bytes.
    Big(usize),
    Error(ErrorCode, String),
    Silence,
    Close,
    Lie(Lie),
    Flood(u64),
    Needs(u64),
    Garbage(u64),
}

impl FromStr for Command {
    type Err = WorkerError;

    fn from_str(text: &str) -> Result<Self, WorkerError> {
        let (name, argument) = text.split_once(':').unwrap_or((text, ""));
        let count = || argument.parse().ok();
        let command = match name {
            "none" => Some(Self::None),
            "exit" => argument.parse().ok().map(Self::Exit),
            "segv" => Some(Self::Segv),
            "abort" => Some(Self::Abort),
            "panic" => Some(Self::Panic),
            "kill" => Some(Self::Signal(SIGKILL)),
            "term" => Some(Self::Signal(SIGTERM)),
            "stop" => Some(Self::Signal(SIGSTOP)),
            "spin" => Some(Self::Spin),
            "sleep" => Some(Self::Sleep),
            "delay" => count().map(Duration::from_millis).map(Self::Delay),
            "leak" => argument.parse().ok().and_then(|mib: usize| mib.checked_mul(MIB)).map(Self::Leak),
            "big" => argument.parse().ok().map(Self::Big),
            "error" => Some(error(argument)),
            "silence" => Some(Self::Silence),
            "close" => Some(Self::Close),
            "lie" => Lie::named(argument).map(Self::Lie),
            "flood" => count().map(Self::Flood),
            "needs" => count().map(Self::Needs),
            "garbage" => count().map(Self::Garbage),
            _ => None,
        };
        command.ok_or_else(|| {
            WorkerError::invalid_argument(format!("'{text}' is not a fault of the echo worker"))
        })
    }
}

fn error(argument: &str) -> Command {
    let coded = argument.split_once(':');
    let coded = coded.and_then(|(code, text)| Some((ErrorCode::from_str_name(code)?, text)));
    let (code, text) = coded.unwrap_or((ErrorCode::Internal, argument));
    Command::Error(code, text.to_owned())
}
