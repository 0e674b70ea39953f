//! Returns the number n, n times, then the final flag. The rules are those of Triton's square backend: of the n
//! responses, the last `CUSTOM_EMPTY_COUNT` are not sent, and as many as `CUSTOM_FAIL_COUNT` before them are errors.

use crate::config::{Expected, Tensor, check_counts};
use nereid_worker::{
    Batch, DataType, ModelContext, Pause, Request, WorkerError, proto::inference::DataType::TypeInt32,
};
use std::time::Duration;

const IN: Expected = Expected { name: "IN", place: "first input", datatype: TypeInt32 };
const OUT: Expected = Expected { name: "OUT", place: "first output", datatype: TypeInt32 };

/// The behaviour.
#[derive(Debug)]
pub(crate) struct Square {
    infer_delay: Duration,
    output_delay: Duration,
    failures: u64,
    empties: u64,
}

/// What becomes of one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Success,
    Failure,
    Empty,
}

impl Square {
    pub(crate) fn of(model: &ModelContext) -> Result<Self, WorkerError> {
        let config = model.config();
        check_counts((config.input.len(), config.output.len()), (1, 1))?;
        let (input, output) = (Tensor::from(&config.input[0]), Tensor::from(&config.output[0]));
        let pairs = || [(IN, input), (OUT, output)].into_iter();
        pairs().try_for_each(|(expected, tensor)| expected.check_name(tensor))?;
        pairs().try_for_each(|(expected, tensor)| expected.check_single(tensor))?;
        pairs().try_for_each(|(expected, tensor)| expected.check_datatype(tensor))?;
        Ok(Self {
            infer_delay: Duration::from_nanos(number(model, "CUSTOM_INFER_DELAY_NS")),
            output_delay: Duration::from_nanos(number(model, "CUSTOM_OUTPUT_DELAY_NS")),
            failures: number(model, "CUSTOM_FAIL_COUNT"),
            empties: number(model, "CUSTOM_EMPTY_COUNT"),
        })
    }

    pub(crate) fn execute(&self, batch: &mut Batch<'_>) {
        batch.mark_input_done();
        for (index, request) in batch.requests().iter().enumerate() {
            if let Err(error) = self.answer(batch, index, request) {
                batch.respond_error(index, error);
            }
        }
    }

    fn answer(&self, batch: &mut Batch<'_>, index: usize, request: &Request) -> Result<(), WorkerError> {
        let (number, shape) = number_of(request)?;
        // A negative number would be a very long stream.
        let count = u64::try_from(number).unwrap_or(0);
        for place in 0..count {
            if pause(batch, index, self.infer_delay)? == Pause::SupervisorGone {
                return Ok(());
            }
            match self.fate(place, count) {
                Fate::Empty => {}
                Fate::Failure => {
                    batch.respond_error(index, WorkerError::unknown("simulated failure"));
                    batch.respond_now(index, false)?;
                }
                Fate::Success => {
                    let output = batch.output(index, OUT.name, DataType::Int32, &shape)?;
                    output.copy_from_slice(&number.to_le_bytes());
                    pause(batch, index, self.output_delay)?;
                    batch.respond_now(index, false)?;
                }
            }
        }
        batch.respond_now(index, true)
    }

    fn fate(&self, place: u64, count: u64) -> Fate {
        let left = count - place;
        if left > self.failures.saturating_add(self.empties) {
            Fate::Success
        } else if left > self.empties {
            Fate::Failure
        } else {
            Fate::Empty
        }
    }
}

/// The number, and the shape of the responses.
fn number_of(request: &Request) -> Result<(i32, Vec<i64>), WorkerError> {
    let input = request
        .input(IN.name)
        .ok_or_else(|| WorkerError::invalid_argument("the request has no input 'IN'"))?;
    let number = input.bytes().first_chunk().map(|bytes| i32::from_le_bytes(*bytes));
    match (number, input.shape()) {
        (Some(number), &[_] | &[1, _]) => Ok((number, vec![1; input.shape().len()])),
        _ => Err(WorkerError::invalid_argument("unexpected shape for IN input")),
    }
}

fn pause(batch: &mut Batch<'_>, index: usize, delay: Duration) -> Result<Pause, WorkerError> {
    match batch.pause_for(index, delay) {
        Pause::Cancelled => Err(WorkerError::cancelled("the request was cancelled")),
        other => Ok(other),
    }
}

/// A parameter that is not a number counts as absent.
fn number(model: &ModelContext, name: &str) -> u64 {
    model.parameter(name).and_then(|text| text.parse().ok()).unwrap_or(0)
}
