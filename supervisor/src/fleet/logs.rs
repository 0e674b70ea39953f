//! A worker's stdout and stderr become log lines of the server; its last words are kept for the crash report.
//!
//! Everything is bounded: a line's length, the lines kept. Nothing here interprets a line.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::unix::pipe::Receiver;

/// A longer line is cut into pieces of this size.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// Lines of stderr that a crash report shows.
const LAST_LINES: usize = 50;

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

/// Reads `pipe` until the last holder closes it.
pub fn follow(pipe: OwnedFd, stream: Stream, origin: Origin, last: LastLines) -> io::Result<()> {
    let pipe = Receiver::from_owned_fd(pipe)?;
    tokio::spawn(async move { read_lines(pipe, stream, &origin, &last).await });
    Ok(())
}

async fn read_lines(pipe: impl AsyncRead + Unpin, stream: Stream, origin: &Origin, last: &LastLines) {
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
            emit(&line, stream, origin, last);
            line.clear();
        }
    }
    if !line.is_empty() {
        emit(&line, stream, origin, last);
    }
}

fn emit(line: &[u8], stream: Stream, origin: &Origin, last: &LastLines) {
    let text = String::from_utf8_lossy(line).into_owned();
    let Origin { model, instance, generation } = origin;
    tracing::info!(target: "worker", %model, %instance, generation, "{text}");
    if stream == Stream::Stderr {
        last.push(text);
    }
}
