//! Writes log lines from a thread of its own, so that a reader of stderr that does not keep up holds up no request.
//!
//! What waits is bounded. A line that finds no room is dropped and counted, and the count is written when there is room
//! again: of the log and the requests, the requests matter more. What a line says is not this file's business.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines that may wait.
const LINES_MAX: usize = 16 * 1024;
/// Their bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long the end of the program waits for the last lines to be written.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// The way into the log, for everyone.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    queue: SyncSender<Entry>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Bytes that wait.
    waiting: AtomicUsize,
    /// Lines that were dropped and not told yet.
    dropped: AtomicU64,
}

#[derive(Debug)]
enum Entry {
    Line(Vec<u8>),
    /// Everything before it is written: the sender is dropped.
    Flush(SyncSender<()>),
}

/// Writes what waits when it is dropped, but does not wait for ever.
#[derive(Debug)]
#[must_use = "the last lines are lost without it"]
pub struct Flush(SyncSender<Entry>);

impl Drop for Flush {
    fn drop(&mut self) {
        let (written, wait) = sync_channel(1);
        // If the queue is full, the reader of stderr has not kept up, and nothing can be done in time.
        if self.0.try_send(Entry::Flush(written)).is_ok() {
            let _ = wait.recv_timeout(FLUSH_MAX);
        }
    }
}

/// Starts the thread that writes to `output`.
pub(super) fn start(output: impl Write + Send + 'static) -> io::Result<(Lines, Flush)> {
    let (queue, entries) = sync_channel(LINES_MAX);
    let counts = Arc::new(Counts::default());
    let lines = Lines { queue: queue.clone(), counts: Arc::clone(&counts) };
    thread::Builder::new()
        .name("nereid-log".to_owned())
        .spawn(move || write_all(output, &entries, &counts))?;
    Ok((lines, Flush(queue)))
}

fn write_all(mut output: impl Write, entries: &Receiver<Entry>, counts: &Counts) {
    for entry in entries {
        // A log that cannot be written has nobody to tell.
        match entry {
            Entry::Line(line) => {
                let _ = output.write_all(&line);
                counts.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            }
            Entry::Flush(written) => {
                tell_dropped(&mut output, counts);
                let _ = output.flush();
                drop(written);
            }
        }
        if counts.waiting.load(Ordering::Relaxed) == 0 {
            tell_dropped(&mut output, counts);
        }
    }
}

fn tell_dropped(output: &mut impl Write, counts: &Counts) {
    let dropped = counts.dropped.swap(0, Ordering::Relaxed);
    if dropped > 0 {
        let _ =
            writeln!(output, "{dropped} lines of the log were dropped: they came faster than they were read");
    }
}

impl Write for Lines {
    /// Takes a whole line; never waits.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let before = self.counts.waiting.fetch_add(line.len(), Ordering::Relaxed);
        // One line is taken however long it is.
        let fits = before == 0 || before + line.len() <= BYTES_MAX;
        if !fits || self.queue.try_send(Entry::Line(line.to_vec())).is_err() {
            self.counts.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
