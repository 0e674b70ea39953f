//! How the worker waits for the supervisor: first by looking again and again for a bounded time, then in poll.
//!
//! Waking a sleeping thread costs more than a small batch, so a short spin may pay where cores are idle. It yields
//! between looks, and is off unless asked for. Every wait goes through the backend's hook.

use crate::end::End;
use nereid_ipc::{Channel, IpcError, Received};
use nereid_proto::worker::ExecutionToWorker;
use std::{
    fmt,
    time::{Duration, Instant},
};

/// [`Backend::wait`](crate::Backend::wait) of the backend at hand.
pub(crate) type WaitHook = fn(&mut (dyn FnMut() + Send));

/// What a wait brought.
#[derive(Debug)]
pub(crate) enum Arrival {
    Nothing,
    /// Found while spinning.
    Execution(Received<ExecutionToWorker>),
    Readable {
        control: bool,
        execution: bool,
    },
}

/// Waits in the backend's and the operator's way.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    spin: Duration,
    hook: WaitHook,
}

impl Waiter {
    pub(crate) fn new(spin: Duration, hook: WaitHook) -> Self {
        Self { spin, hook }
    }

    pub(crate) fn wait(
        self,
        control: &Channel,
        execution: &mut Channel,
        timeout: Option<Duration>,
    ) -> Result<Arrival, End> {
        let mut arrival = Ok(Arrival::Nothing);
        (self.hook)(&mut || arrival = look(self.spin, control, execution, timeout));
        Ok(arrival?)
    }

    /// Sends at once if the socket has room, so that the hook costs nothing in the ordinary case.
    pub(crate) fn send<M: prost::Message + Sync>(
        self,
        channel: &mut Channel,
        frame: &M,
    ) -> Result<(), IpcError> {
        let mut sent = channel.try_send(frame, None);
        if matches!(sent, Err(IpcError::Full)) {
            (self.hook)(&mut || sent = channel.send(frame, None));
        }
        sent
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("spin", &self.spin).finish_non_exhaustive()
    }
}

fn look(
    spin: Duration,
    control: &Channel,
    execution: &mut Channel,
    timeout: Option<Duration>,
) -> Result<Arrival, IpcError> {
    if !spin.is_zero() {
        let begin = Instant::now();
        while begin.elapsed() < spin.min(timeout.unwrap_or(Duration::MAX)) {
            std::thread::yield_now();
            if let Some(received) = execution.try_recv()? {
                return Ok(Arrival::Execution(received));
            }
        }
    }
    let ready = Channel::wait_readable(&[control, execution], timeout)?;
    if ready.timed_out() {
        return Ok(Arrival::Nothing);
    }
    Ok(Arrival::Readable { control: ready.is_readable(0), execution: ready.is_readable(1) })
}
