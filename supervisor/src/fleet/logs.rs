//! A worker's stdout and stderr become log lines of the server; its last words are kept for the crash report.
//!
//! Everything is bounded: a line's length, the lines kept, the lines that one worker may add to the log in a second.
//! Nothing here interprets a line.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;

use super::rate::Rate;
use crate::clock;

/// A longer line is cut into pieces of this size.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// Lines of stderr that a crash report shows.
const LAST_LINES: usize = 50;
/// Lines of one worker that the log takes in a second, whichever way they come.
const LINES_PER_SECOND_MAX: u32 = 1000;

/// Which worker a line comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    pub model: String,
    pub instance: String,
    pub generation: u64,
}

/// The last lines that a worker wrote, shared with the task that reads them.
#[derive(Clone, Debug, Default)]
pub struct LastLines(Arc<Mutex<VecDeque<String>>>);

impl LastLines {
    fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// A copy of the lines, oldest first.
    #[must_use]
    pub fn snapshot(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Which of its two streams a worker wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// The way of one worker's lines into the log: they say whose they are, and are no more than the log can bear.
#[derive(Clone, Debug)]
pub struct Relay {
    origin: Origin,
    last: LastLines,
    quota: Arc<Mutex<Quota>>,
}

#[derive(Debug)]
struct Quota {
    rate: Rate,
    dropped: u64,
}

impl Relay {
    /// For a worker that has not said anything yet.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        let quota = Quota { rate: Rate::per_second(LINES_PER_SECOND_MAX), dropped: 0 };
        Self { origin, last: LastLines::default(), quota: Arc::new(Mutex::new(quota)) }
    }

    /// What its stderr said last.
    #[must_use]
    pub const fn last_lines(&self) -> &LastLines {
        &self.last
    }

    /// Whether the log takes one more line of it now. Says how many it did not take before.
    #[must_use]
    pub fn admits(&self) -> bool {
        let mut quota = self.quota.lock().unwrap_or_else(PoisonError::into_inner);
        if !quota.rate.allows(clock::now()) {
            quota.dropped += 1;
            return false;
        }
        let dropped = std::mem::take(&mut quota.dropped);
        drop(quota);
        self.say_dropped(dropped);
        true
    }

    /// Nothing more comes: says how many lines were not taken at the end.
    fn end(&self) {
        let dropped = std::mem::take(&mut self.quota.lock().unwrap_or_else(PoisonError::into_inner).dropped);
        self.say_dropped(dropped);
    }

    fn say_dropped(&self, dropped: u64) {
        if dropped > 0 {
            let Origin { model, instance, generation } = &self.origin;
            tracing::warn!(
                target: "worker", %model, %instance, generation,
                "{dropped} lines of this worker were dropped: it wrote more than {LINES_PER_SECOND_MAX} in a second"
            );
        }
    }

    fn line(&self, line: &[u8], stream: Stream) {
        let text = String::from_utf8_lossy(line).into_owned();
        if self.admits() {
            let Origin { model, instance, generation } = &self.origin;
            tracing::info!(target: "worker", %model, %instance, generation, "{text}");
        }
        if stream == Stream::Stderr {
            self.last.push(text);
        }
    }
}

/// Reads `pipe` until the last holder closes it; the task ends then.
pub fn follow(pipe: OwnedFd, stream: Stream, relay: Relay) -> io::Result<JoinHandle<()>> {
    let pipe = Receiver::from_owned_fd(pipe)?;
    Ok(tokio::spawn(async move { read_lines(pipe, stream, &relay).await }))
}

async fn read_lines(pipe: impl AsyncRead + Unpin, stream: Stream, relay: &Relay) {
    let mut reader = BufReader::with_capacity(LINE_BYTES_MAX, pipe);
    let mut line = Vec::new();
    loop {
        let (used, ended) = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => match bytes.iter().position(|&byte| byte == b'\n') {
                Some(end) => {
                    line.extend_from_slice(&bytes[..end]);
                    (end + 1, true)
                }
                None => {
                    line.extend_from_slice(bytes);
                    (bytes.len(), line.len() >= LINE_BYTES_MAX)
                }
            },
        };
        reader.consume(used);
        if ended {
            relay.line(&line, stream);
            line.clear();
        }
    }
    if !line.is_empty() {
        relay.line(&line, stream);
    }
    relay.end();
}

#[cfg(test)]
mod tests;
