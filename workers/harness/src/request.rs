//! One request as a backend sees it.

use crate::{end::End, memory::Memory, tensors::InputTensor};
use nereid_proto::worker::{self, Parameter, parameter::Value, request::Correlation};

/// Bit of `flags` for the first request of a sequence.
const SEQUENCE_START: u32 = 1;
/// Bit of `flags` for the last request of a sequence.
const SEQUENCE_END: u32 = 2;

/// One request of a batch, with its inputs in place.
#[derive(Debug)]
pub struct Request {
    message: worker::Request,
    inputs: Vec<InputTensor>,
}

impl Request {
    pub(crate) fn new(mut message: worker::Request, memory: &Memory) -> Result<Self, End> {
        let tensors = std::mem::take(&mut message.inputs);
        let inputs: Result<_, End> =
            tensors.into_iter().map(|tensor| InputTensor::new(tensor, memory)).collect();
        Ok(Self { message, inputs: inputs? })
    }

    /// Names the request between supervisor and worker.
    #[must_use]
    pub fn ticket(&self) -> u64 {
        self.message.ticket
    }

    /// The client's id, may be empty.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.message.id
    }

    /// The sequence that it belongs to.
    #[must_use]
    pub fn correlation(&self) -> Option<&Correlation> {
        self.message.correlation.as_ref()
    }

    /// Sequence flags as the protocol has them: 1 start, 2 end.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.message.flags
    }

    /// Whether it is the first of its sequence.
    #[must_use]
    pub fn is_sequence_start(&self) -> bool {
        self.message.flags & SEQUENCE_START != 0
    }

    /// Whether it is the last of its sequence.
    #[must_use]
    pub fn is_sequence_end(&self) -> bool {
        self.message.flags & SEQUENCE_END != 0
    }

    /// Its priority; 0 for the model's default.
    #[must_use]
    pub fn priority(&self) -> u64 {
        self.message.priority
    }

    /// Microseconds that the client gave it; 0 for no limit.
    #[must_use]
    pub fn timeout_us(&self) -> u64 {
        self.message.timeout_us
    }

    /// The client's parameters.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.message.parameters
    }

    /// One of the client's parameters.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Value> {
        self.parameters().iter().find(|parameter| parameter.name == name)?.value.as_ref()
    }

    /// The outputs that the client wants; empty for all.
    #[must_use]
    pub fn requested_outputs(&self) -> &[String] {
        &self.message.requested_outputs
    }

    /// Whether the client wants that output.
    #[must_use]
    pub fn wants(&self, output: &str) -> bool {
        self.requested_outputs().is_empty() || self.requested_outputs().iter().any(|name| name == output)
    }

    /// The inputs, in the order of the request.
    #[must_use]
    pub fn inputs(&self) -> &[InputTensor] {
        &self.inputs
    }

    /// The input of that name; an optional one may be absent.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&InputTensor> {
        self.inputs.iter().find(|input| input.name() == name)
    }

    /// The first dimension of its first input: its part of the batch, for models that have one.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.inputs.first().and_then(|input| input.shape().first()).copied().unwrap_or(1)
    }
}
