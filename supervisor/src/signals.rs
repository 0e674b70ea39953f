//! SIGTERM and SIGINT: the first asks for a graceful end, the second for a quick one. SIGPIPE is ignored by Rust's
//! runtime already.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the server.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes the signals over from here on.
    pub fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next of them and tells its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
