//! One request's answer while it grows, and the clock of the batch.

use crate::error::WorkerError;
use nereid_proto::worker::{Parameter, Response, Tensor, Timing};
use std::time::{Duration, Instant};

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The backend has said nothing.
    Untouched,
    /// There is something to send.
    Touched,
    /// Responses were sent, and there is nothing new.
    Streaming,
    /// The final response was sent.
    Final,
}

/// The response that the backend is making for one request.
#[derive(Debug)]
pub(super) struct Answer {
    response: Response,
    state: State,
    /// An output shares its memory with other responses.
    shares: bool,
}

impl Answer {
    pub(super) fn new(ticket: u64) -> Self {
        let response = Response { ticket, ..Response::default() };
        Self { response, state: State::Untouched, shares: false }
    }

    pub(super) fn check_open(&self, output: Option<&str>) -> Result<(), WorkerError> {
        if self.state == State::Final {
            return Err(WorkerError::internal("the request has its final response already"));
        }
        if let Some(name) = output
            && self.response.outputs.iter().any(|have| have.name == name)
        {
            return Err(WorkerError::internal(format!("output '{name}' was given twice in one response")));
        }
        Ok(())
    }

    pub(super) fn check_unshared(&self) -> Result<(), WorkerError> {
        if self.shares {
            return Err(WorkerError::internal("a joined output can only be sent at the end of its batch"));
        }
        Ok(())
    }

    /// Whether a joined output still has a place here.
    pub(super) fn takes_outputs(&self) -> bool {
        self.state != State::Final && self.response.error.is_none()
    }

    pub(super) fn touch(&mut self) {
        self.state = State::Touched;
    }

    pub(super) fn add(&mut self, output: Tensor) {
        self.touch();
        self.response.outputs.push(output);
    }

    pub(super) fn add_shared(&mut self, output: Tensor) {
        self.shares = true;
        self.add(output);
    }

    pub(super) fn add_parameter(&mut self, parameter: Parameter) {
        self.touch();
        self.response.parameters.push(parameter);
    }

    pub(super) fn fail(&mut self, error: WorkerError) {
        self.touch();
        self.shares = false;
        self.response.outputs.clear();
        self.response.error = Some(error.into());
    }

    /// The descriptors, for whoever wants to spoil them.
    pub(super) fn outputs(&mut self) -> &mut Vec<Tensor> {
        &mut self.response.outputs
    }

    /// What there is to send now.
    pub(super) fn take(&mut self, last: bool) -> Response {
        self.state = if last { State::Final } else { State::Streaming };
        let next = Response { ticket: self.response.ticket, ..Response::default() };
        let mut response = std::mem::replace(&mut self.response, next);
        seal(&mut response);
        response.r#final = last;
        response
    }

    /// What there is to send at the end of the batch.
    pub(super) fn into_last(mut self) -> Option<Response> {
        match self.state {
            State::Final => return None,
            State::Touched | State::Streaming => seal(&mut self.response),
            State::Untouched => {
                let error =
                    WorkerError::internal("the model ended its execution without answering the request");
                self.response.error = Some(error.into());
            }
        }
        self.response.r#final = true;
        Some(self.response)
    }
}

/// A response has outputs or an error, not both: outputs may have been added after the error.
fn seal(response: &mut Response) {
    if response.error.is_some() {
        response.outputs.clear();
    }
}

/// Where the time of a batch goes.
#[derive(Debug)]
pub(super) struct Clock {
    begin: Instant,
    input_done: Option<Instant>,
    infer_done: Option<Instant>,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { begin: Instant::now(), input_done: None, infer_done: None }
    }

    pub(super) fn begin(&self) -> Instant {
        self.begin
    }

    pub(super) fn input_done(&mut self) -> Instant {
        *self.input_done.insert(Instant::now())
    }

    pub(super) fn infer_done(&mut self) -> Instant {
        *self.infer_done.insert(Instant::now())
    }

    /// Time that no mark tells apart counts as computation.
    pub(super) fn stop(&self) -> Timing {
        let end = Instant::now();
        let input_done = self.input_done.unwrap_or(self.begin);
        let infer_done = self.infer_done.unwrap_or(end);
        Timing {
            input_ns: nanos(input_done - self.begin),
            infer_ns: nanos(infer_done.saturating_duration_since(input_done)),
            output_ns: nanos(end - infer_done),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
