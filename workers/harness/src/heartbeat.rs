//! The thread that says "the process runs", whatever the model does.
//!
//! It never touches the backend, takes no lock that anybody else holds for long and allocates nothing worth mentioning,
//! so that a model which computes for an hour, or holds its interpreter's lock meanwhile, does not stop it. Only what stops
//! the whole process does. Deliberately not here: what the supervisor makes of a silence.

use crate::{end::End, progress::Progress};
use nereid_ipc::{Channel, IpcError};
use nereid_proto::worker::{ControlToSupervisor, control_to_supervisor::Message};
use nix::sys::signal::{SigSet, SigmaskHow};
use std::{
    os::fd::AsFd,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::{self, JoinHandle},
    time::Duration,
};

/// It needs no more, and a worker has one.
const STACK_BYTES: usize = 128 * 1024;

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Heart {
    /// Closed to end the thread.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heart {
    /// Beats once per `interval` over a copy of the control socket.
    pub(crate) fn start(
        control: &Channel,
        generation: u64,
        progress: Progress,
        interval: Duration,
    ) -> Result<Self, End> {
        let control = copy(control)?;
        let (stop, stopped) = sync_channel(0);
        let beat = move || beat_until(&stopped, control, generation, &progress, interval);
        let builder = thread::Builder::new().name("nereid-heart".to_owned()).stack_size(STACK_BYTES);
        let thread = without_signals(|| builder.spawn(beat))?
            .map_err(|error| End::System(format!("no thread for the heartbeat: {error}")))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It waits for nothing else, so this takes no time.
            let ended = thread.join();
            debug_assert!(ended.is_ok(), "the heartbeat does not panic");
        }
    }
}

/// A second fd of the socket, so that sending needs nothing that the loop owns.
fn copy(control: &Channel) -> Result<Channel, IpcError> {
    let fd = control.as_fd().try_clone_to_owned();
    Channel::from_fd(fd.map_err(|source| IpcError::Io { call: "dup of the control socket", source })?)
}

/// Runs `start` with all signals blocked, which a new thread inherits: a model's own handlers go on to interrupt the
/// thread that the model runs on.
fn without_signals<R>(start: impl FnOnce() -> R) -> Result<R, End> {
    let failed = |error| End::System(format!("unable to block signals for the heartbeat: {error}"));
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(failed)?;
    let started = start();
    before.thread_set_mask().map_err(failed)?;
    Ok(started)
}

fn beat_until(
    stopped: &Receiver<()>,
    mut control: Channel,
    generation: u64,
    progress: &Progress,
    interval: Duration,
) {
    loop {
        match beat(&mut control, generation, progress) {
            // A supervisor that does not read will find the socket full of other words.
            Ok(()) | Err(IpcError::Full) => {}
            // The loop notices the same, and knows what to do.
            Err(_) => return,
        }
        if stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn beat(control: &mut Channel, generation: u64, progress: &Progress) -> Result<(), IpcError> {
    let message = Some(Message::Heartbeat(progress.heartbeat()));
    control.try_send(&ControlToSupervisor { generation, message }, None)
}

#[cfg(test)]
mod tests;
