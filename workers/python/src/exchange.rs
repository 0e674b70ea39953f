//! Answers that a model sends through response senders, from any thread, while its batch is open.
//!
//! Only the thread that executes the batch can write answers. A sender on that thread delivers at once; one on another
//! thread leaves its response here and rings. The batch stays open until every sender has sent its last response or
//! is gone. Nothing of Python is called or dropped under the lock.

use crate::{
    exceptions::{Fault, TritonModelException},
    ffi::current,
    response::InferenceResponse,
};
use nereid_worker::Batch;
use pyo3::{prelude::*, types::PyTuple};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Responses of other threads that may wait for the executing one.
const QUEUE_MAX: usize = 4096;
/// How often an executing thread that waits for others looks whether requests were cancelled.
const CANCEL_PERIOD: Duration = Duration::from_millis(50);

/// The flag of the last response.
const COMPLETE_FINAL: u32 = 1;

/// One batch's senders.
#[derive(Debug)]
pub(crate) struct Exchange {
    decoupled: bool,
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Debug)]
struct State {
    lines: Vec<Line>,
    queue: VecDeque<Sent>,
    /// Something happened since the executing thread last looked.
    rung: bool,
}

/// One request's sender.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    sent: bool,
    closed: bool,
    cancelled: bool,
    /// Sender objects in Python's hands.
    handles: usize,
}

/// Where there is no request, nothing can be sent.
const NO_LINE: Line = Line { sent: false, closed: true, cancelled: false, handles: 0 };

#[derive(Debug)]
struct Sent {
    index: usize,
    response: Option<Py<InferenceResponse>>,
    last: bool,
}

impl Exchange {
    pub(crate) fn new(decoupled: bool, requests: usize) -> Arc<Self> {
        let state = State { lines: vec![Line::default(); requests], queue: VecDeque::new(), rung: false };
        Arc::new(Self { decoupled, state: Mutex::new(state), bell: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the executing thread if it waits.
    pub(crate) fn ring(&self) {
        self.lock().rung = true;
        self.bell.notify_all();
    }

    // --- Senders ---

    fn send(&self, index: usize, response: Option<Py<InferenceResponse>>, flags: u32) -> PyResult<()> {
        let refuse =
            |text: &str| Err(TritonModelException::new_err(format!("Unable to send response. {text}")));
        if flags != COMPLETE_FINAL && flags != 0 {
            return refuse("Unsupported flag provided.");
        }
        if flags == 0 && response.is_none() {
            return Err(TritonModelException::new_err(
                "Inference Response object must be provided when the response flags is set to zero.",
            ));
        }
        let last = flags == COMPLETE_FINAL;
        let mut state = self.lock();
        if let Err(text) = state.check(self.decoupled, index, response.is_some()) {
            drop(state);
            return refuse(text);
        }
        if state.queue.len() >= QUEUE_MAX {
            drop(state);
            return refuse(&format!(
                "{QUEUE_MAX} responses of other threads wait while execute runs; let execute return."
            ));
        }
        state.note(index, last);
        state.queue.push_back(Sent { index, response, last });
        drop(state);
        self.ring();
        Ok(())
    }

    /// A response that execute returned, which is the request's only one.
    pub(crate) fn note_returned(&self, index: usize) -> Result<(), Fault> {
        let mut state = self.lock();
        match state.check(self.decoupled, index, true) {
            Ok(()) => state.note(index, true),
            Err(text) => return Err(Fault::Rule(format!("Unable to send response. {text}"))),
        }
        Ok(())
    }

    fn is_cancelled(&self, index: usize) -> bool {
        self.lock().lines.get(index).is_some_and(|line| line.cancelled)
    }

    fn note_cancelled(&self, index: usize) {
        if let Some(line) = self.lock().lines.get_mut(index) {
            line.cancelled = true;
        }
    }

    // --- The executing thread ---

    /// Writes what was sent so far.
    pub(crate) fn deliver(&self, py: Python<'_>, batch: &mut Batch<'_>) -> PyResult<()> {
        loop {
            let next = self.lock().queue.pop_front();
            let Some(sent) = next else { return Ok(()) };
            if let Some(response) = &sent.response {
                response.get().write(py, batch, sent.index)?;
            }
            // The only response of another model may wait for the batch, unless it was said to be the last one.
            if (sent.last || self.decoupled) && batch.respond_now(sent.index, sent.last).is_err() {
                return Ok(()); // The supervisor has gone; the loop ends after this batch.
            }
        }
    }

    /// Delivers until no sender can send any more, or `done` says so. Other threads run meanwhile.
    pub(crate) fn wait(
        &self,
        py: Python<'_>,
        batch: &mut Batch<'_>,
        done: impl Fn() -> PyResult<bool>,
    ) -> PyResult<()> {
        let mut looked = Instant::now();
        loop {
            self.deliver(py, batch)?;
            if done()? {
                return self.deliver(py, batch);
            }
            py.detach(|| {
                let waited = self.bell.wait_timeout_while(self.lock(), CANCEL_PERIOD, |state| !state.rung);
                waited.unwrap_or_else(PoisonError::into_inner).0.rung = false;
            });
            py.check_signals()?;
            if looked.elapsed() >= CANCEL_PERIOD {
                self.look_for_cancels(batch);
                looked = Instant::now();
            }
        }
    }

    /// Whether some sender can still send.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().lines.iter().any(|line| !line.closed && line.handles > 0)
    }

    fn look_for_cancels(&self, batch: &mut Batch<'_>) {
        for index in 0..batch.requests().len() {
            if batch.is_cancelled(index) {
                self.note_cancelled(index);
            }
        }
    }

    /// The batch is over: whoever still holds a sender finds it closed.
    pub(crate) fn close(&self) {
        let left = {
            let mut state = self.lock();
            state.lines.iter_mut().for_each(|line| line.closed = true);
            std::mem::take(&mut state.queue)
        };
        drop(left);
    }
}

impl State {
    /// Whether a response may be sent; the text says why not.
    fn check(&self, decoupled: bool, index: usize, has_response: bool) -> Result<(), &'static str> {
        let line = self.lines.get(index).copied().unwrap_or(NO_LINE);
        if !decoupled && has_response && line.sent {
            return Err("Non-decoupled model cannot send more than one response.");
        }
        if !decoupled && !has_response && !line.sent {
            return Err("Non-decoupled model cannot send complete final before sending a response.");
        }
        if line.closed { Err("Response sender has been closed.") } else { Ok(()) }
    }

    fn note(&mut self, index: usize, last: bool) {
        if let Some(line) = self.lines.get_mut(index) {
            line.sent = true;
            line.closed |= last;
        }
    }
}

/// Sends the responses of one request.
#[pyclass(frozen, module = "triton_python_backend_utils")]
#[derive(Debug)]
pub(crate) struct InferenceResponseSender {
    exchange: Arc<Exchange>,
    index: usize,
}

impl InferenceResponseSender {
    pub(crate) fn new(exchange: Arc<Exchange>, index: usize) -> Self {
        if let Some(line) = exchange.lock().lines.get_mut(index) {
            line.handles += 1;
        }
        Self { exchange, index }
    }
}

impl Drop for InferenceResponseSender {
    fn drop(&mut self) {
        if let Some(line) = self.exchange.lock().lines.get_mut(self.index) {
            line.handles -= 1;
        }
        self.exchange.ring();
    }
}

/// Rings when it is called, as the callback of a future.
#[pyclass(frozen, module = "nereid_worker._native")]
#[derive(Debug)]
pub(crate) struct Bell(pub(crate) Arc<Exchange>);

#[pymethods]
impl Bell {
    #[pyo3(signature = (*_args))]
    fn __call__(&self, _args: &Bound<'_, PyTuple>) {
        self.0.ring();
    }
}

/// Whether nobody waits for request `index` any more.
pub(crate) fn is_cancelled(exchange: &Exchange, index: usize) -> bool {
    // A batch that this thread does not execute is looked at by the thread that does.
    let open = exchange.lock().lines.get(index).is_some_and(|line| !line.closed && !line.cancelled);
    if open && current::with(|batch| batch.is_cancelled(index)) == Some(true) {
        exchange.note_cancelled(index);
    }
    exchange.is_cancelled(index)
}

#[pymethods]
impl InferenceResponseSender {
    /// Sends a response, or only the word that no further one comes (flags 1).
    #[pyo3(signature = (response=None, flags=0))]
    fn send(&self, py: Python<'_>, response: Option<Py<InferenceResponse>>, flags: u32) -> PyResult<()> {
        self.exchange.send(self.index, response, flags)?;
        current::with(|batch| self.exchange.deliver(py, batch)).unwrap_or(Ok(()))
    }

    /// Whether nobody waits for the answer any more.
    fn is_cancelled(&self) -> bool {
        is_cancelled(&self.exchange, self.index)
    }
}
