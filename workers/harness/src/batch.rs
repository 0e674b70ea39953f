//! A batch as a backend sees it: requests to read, answers to give.
//!
//! Outputs are written where the supervisor reads them, and normally one packet at the end carries all answers. What a
//! backend gets wrong (a length, a name twice, no answer at all) becomes an error of the request here, since to the
//! supervisor it would look like a lie. Deliberately not here: joining the rows of a batch, see `gather`.

mod answer;
mod raw;
mod send;

use crate::{
    error::WorkerError,
    log::Logger,
    request::Request,
    session::Session,
    tensors::{Label, OutputBuffer},
    watch::Pause,
};
use answer::{Answer, Clock};
use nereid_ipc::{DataType, elements};
use nereid_proto::worker::{Parameter, Tensor, heartbeat::Stage, parameter::Value};
pub use raw::Raw;
use std::time::{Duration, Instant};

/// Requests that are executed together.
///
/// `index` is a request's place in [`requests`](Self::requests) everywhere. When the supervisor goes in the middle of a
/// batch, everything that could wait gives an error at once; a backend then just returns.
#[derive(Debug)]
pub struct Batch<'b> {
    session: &'b mut Session,
    number: u64,
    requests: &'b [Request],
    logger: &'b Logger,
    answers: Vec<Answer>,
    /// Memory of outputs that were not sent yet.
    buffers: Vec<OutputBuffer>,
    /// Some of `buffers` may belong to no answer.
    discarded: bool,
    clock: Clock,
}

impl<'b> Batch<'b> {
    pub(crate) fn new(
        session: &'b mut Session,
        number: u64,
        requests: &'b [Request],
        logger: &'b Logger,
    ) -> Self {
        let clock = Clock::start();
        session.begin(clock.begin(), requests.iter().map(Request::ticket));
        let answers = requests.iter().map(|request| Answer::new(request.ticket())).collect();
        Self { session, number, requests, logger, answers, buffers: Vec::new(), discarded: false, clock }
    }

    // --- The question ---

    /// The requests. They live longer than the borrow of the batch, so outputs can be written while inputs are read.
    #[must_use]
    pub fn requests(&self) -> &'b [Request] {
        self.requests
    }

    /// The worker's log; may be cloned and sent to other threads.
    #[must_use]
    pub fn logger(&self) -> &'b Logger {
        self.logger
    }

    /// Whether nobody waits for the answer any more. Looks at the socket, so it costs a system call.
    pub fn is_cancelled(&mut self, index: usize) -> bool {
        let caught_up = self.session.within(Session::catch_up);
        caught_up.is_err() || self.ticket(index).is_some_and(|ticket| self.session.is_cancelled(ticket))
    }

    /// Waits.
    pub fn pause(&mut self, duration: Duration) -> Pause {
        self.pause_unless(duration, None)
    }

    /// Waits, or until the request is cancelled.
    pub fn pause_for(&mut self, index: usize, duration: Duration) -> Pause {
        let ticket = self.ticket(index);
        self.pause_unless(duration, ticket)
    }

    fn pause_unless(&mut self, duration: Duration, ticket: Option<u64>) -> Pause {
        let deadline = Instant::now().checked_add(duration);
        // However short the pause: a stream without delays has to see its cancellation, too.
        if self.session.within(Session::catch_up).is_err() {
            return Pause::SupervisorGone;
        }
        loop {
            if ticket.is_some_and(|ticket| self.session.is_cancelled(ticket)) {
                return Pause::Cancelled;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Pause::Elapsed;
            }
            if self.session.within(|session| session.wait(left)).is_err() {
                return Pause::SupervisorGone;
            }
        }
    }

    fn ticket(&self, index: usize) -> Option<u64> {
        self.requests.get(index).map(Request::ticket)
    }

    /// The inputs have been gathered; what follows is the computation.
    pub fn mark_input_done(&mut self) {
        self.session.progress.enter_at(Stage::Execute, self.clock.input_done());
    }

    /// The computation is over; what follows is the writing of outputs.
    pub fn mark_infer_done(&mut self) {
        self.session.progress.enter_at(Stage::Output, self.clock.infer_done());
    }

    // --- Outputs ---

    /// Output memory of `length` bytes, aligned to 64, for a tensor whose request or shape comes later. Waits when
    /// the arena is short; fails with UNAVAILABLE when the supervisor allows no more.
    pub fn allocate(&mut self, length: usize) -> Result<OutputBuffer, WorkerError> {
        let length = u64::try_from(length).map_err(|_| WorkerError::internal("an output beyond 64 bits"))?;
        self.session.lease(length).map(OutputBuffer::new)
    }

    /// An output of one request, of a type with a fixed size: the bytes to write.
    pub fn output(
        &mut self,
        index: usize,
        name: &str,
        datatype: DataType,
        shape: &[i64],
    ) -> Result<&mut [u8], WorkerError> {
        let label = Label { name, datatype, shape };
        let length = label.byte_len()?.ok_or_else(|| {
            WorkerError::internal(format!("output '{name}' is BYTES, so its length has to be given"))
        })?;
        self.place(index, label, length)
    }

    /// An output of one request whose length is known otherwise: the bytes to write. Those of a BYTES tensor are its
    /// elements, each after its length as a little-endian `u32`.
    pub fn output_with_len(
        &mut self,
        index: usize,
        name: &str,
        (datatype, shape): (DataType, &[i64]),
        length: usize,
    ) -> Result<&mut [u8], WorkerError> {
        let label = Label { name, datatype, shape };
        let length = u64::try_from(length).map_err(|_| WorkerError::internal("an output beyond 64 bits"))?;
        label.check_len(length)?;
        self.place(index, label, length)
    }

    /// A BYTES output of one request, from its elements.
    pub fn output_elements(
        &mut self,
        index: usize,
        name: &str,
        shape: &[i64],
        elements: &[impl AsRef<[u8]>],
    ) -> Result<(), WorkerError> {
        let target = self.output_with_len(index, name, (DataType::Bytes, shape), elements_len(elements))?;
        write_elements(target, elements)
    }

    /// Makes a buffer an output of one request. All of it belongs to the tensor.
    pub fn attach(
        &mut self,
        index: usize,
        name: &str,
        (datatype, shape): (DataType, &[i64]),
        buffer: OutputBuffer,
    ) -> Result<(), WorkerError> {
        let label = Label { name, datatype, shape };
        let length = buffer.as_slice().len() as u64;
        label.check_len(length)?;
        self.open(index, Some(name))?.add(buffer.describe(label, 0, length));
        self.buffers.push(buffer);
        Ok(())
    }

    fn place(&mut self, index: usize, label: Label<'_>, length: u64) -> Result<&mut [u8], WorkerError> {
        self.open(index, Some(label.name))?;
        let buffer = OutputBuffer::new(self.session.lease(length)?);
        self.answers[index].add(buffer.describe(label, 0, length));
        Ok(push(&mut self.buffers, buffer).as_mut_slice())
    }

    /// Gives one request its part of a joined output, if it has a use for it.
    pub(crate) fn add_part(&mut self, index: usize, part: Tensor) -> Result<(), WorkerError> {
        let wanted = self.requests.get(index).is_some_and(|request| request.wants(&part.name));
        if wanted && self.answers.get(index).is_some_and(Answer::takes_outputs) {
            self.open(index, Some(&part.name))?.add_shared(part);
        }
        Ok(())
    }

    /// Keeps a joined output until the end of the batch.
    pub(crate) fn keep(&mut self, buffer: OutputBuffer) -> &mut [u8] {
        // Nobody may have wanted it.
        self.discarded = true;
        push(&mut self.buffers, buffer).as_mut_slice()
    }

    /// An answer that can still be changed, and has no output of that name yet.
    fn open(&mut self, index: usize, output: Option<&str>) -> Result<&mut Answer, WorkerError> {
        let count = self.answers.len();
        let answer = self.answers.get_mut(index).ok_or_else(|| {
            WorkerError::internal(format!("there is no request {index} in a batch of {count}"))
        })?;
        answer.check_open(output)?;
        Ok(answer)
    }

    // --- Answers ---

    /// Fails one request; outputs that it has got before are thrown away. After its final response, nothing happens.
    pub fn respond_error(&mut self, index: usize, error: WorkerError) {
        if let Ok(answer) = self.open(index, None) {
            answer.fail(error);
            self.discarded = true;
        }
    }

    /// Fails every request that has no final response yet.
    pub fn respond_error_to_all(&mut self, error: &WorkerError) {
        for index in 0..self.answers.len() {
            self.respond_error(index, error.clone());
        }
    }

    /// Adds a parameter to the response.
    pub fn set_parameter(&mut self, index: usize, name: &str, value: Value) -> Result<(), WorkerError> {
        self.open(index, None)?.add_parameter(Parameter { name: name.to_owned(), value: Some(value) });
        Ok(())
    }

    /// Says that the response is complete as it is, even without any output.
    pub fn complete(&mut self, index: usize) -> Result<(), WorkerError> {
        self.open(index, None)?.touch();
        Ok(())
    }

    /// Sends now what the response has, for models that give several. If it is not the last one, the next begins
    /// empty. A request that never gets a final one gets an empty final one at the end of the batch.
    ///
    /// Joined outputs cannot be sent this way, since their memory belongs to several responses.
    pub fn respond_now(&mut self, index: usize, last: bool) -> Result<(), WorkerError> {
        let answer = self.open(index, None)?;
        answer.check_unshared()?;
        let response = answer.take(last);
        for output in &response.outputs {
            if let Some(place) = self.buffers.iter().rposition(|buffer| buffer.slot() == output.slot) {
                self.buffers.swap_remove(place).commit();
            }
        }
        self.send_response(response)
    }

    /// For tests of what the supervisor makes of a worker that lies; a backend has no use for it. Nothing is checked.
    pub fn raw(&mut self) -> Raw<'_, 'b> {
        Raw { batch: self }
    }
}

fn push(buffers: &mut Vec<OutputBuffer>, buffer: OutputBuffer) -> &mut OutputBuffer {
    let place = buffers.len();
    buffers.push(buffer);
    &mut buffers[place]
}

pub(crate) fn elements_len(elements: &[impl AsRef<[u8]>]) -> usize {
    elements.iter().map(|element| elements::PREFIX + element.as_ref().len()).sum()
}

pub(crate) fn write_elements(
    mut target: &mut [u8],
    elements: &[impl AsRef<[u8]>],
) -> Result<(), WorkerError> {
    for element in elements {
        let element = element.as_ref();
        let length = u32::try_from(element.len())
            .map_err(|_| WorkerError::internal("an element longer than 32 bits can tell"))?;
        let parts = target.split_at_mut_checked(elements::PREFIX).and_then(|(prefix, rest)| {
            let (bytes, rest) = rest.split_at_mut_checked(element.len())?;
            Some((prefix, bytes, rest))
        });
        let (prefix, bytes, rest) =
            parts.ok_or_else(|| WorkerError::internal("elements that changed their lengths"))?;
        prefix.copy_from_slice(&length.to_le_bytes());
        bytes.copy_from_slice(element);
        target = rest;
    }
    Ok(())
}
