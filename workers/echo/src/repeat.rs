//! Returns the elements of a vector one by one: `OUT` is the element and `IDX` its place, each after its `DELAY` in
//! milliseconds. An empty vector gives no response but the final flag. The rules are those of Triton's repeat backend.
//!
//! `WAIT` milliseconds have to pass before the request is released. There, responses may come after that; here, one
//! thread does all the work, so the request holds its instance until both are over.

use crate::config::{Expected, Tensor, check, check_counts, shape_text};
use nereid_worker::{
    Batch, DataType, ModelContext, Pause, Request, WorkerError,
    proto::inference::DataType::{TypeInt32, TypeUint32},
};
use std::time::{Duration, Instant};

const IN: Expected = Expected { name: "IN", place: "first input", datatype: TypeInt32 };
const DELAY: Expected = Expected { name: "DELAY", place: "second input", datatype: TypeUint32 };
const WAIT: Expected = Expected { name: "WAIT", place: "third input", datatype: TypeUint32 };
const OUT: Expected = Expected { name: "OUT", place: "first output", datatype: TypeInt32 };
const IDX: Expected = Expected { name: "IDX", place: "second output", datatype: TypeUint32 };

/// The behaviour.
#[derive(Debug)]
pub(crate) struct Repeat {
    decoupled: bool,
}

/// What one request asks for.
struct Order {
    values: Vec<i32>,
    delays: Vec<Duration>,
    wait: Duration,
}

impl Repeat {
    pub(crate) fn of(model: &ModelContext) -> Result<Self, WorkerError> {
        let config = model.config();
        check(config.max_batch_size == 0, || {
            "repeat backend only supports models with max_batch_size == 0".to_owned()
        })?;
        let inputs: Vec<Tensor<'_>> = config.input.iter().map(Tensor::from).collect();
        let outputs: Vec<Tensor<'_>> = config.output.iter().map(Tensor::from).collect();
        check_counts((inputs.len(), outputs.len()), (3, 2))?;
        let pairs = || [IN, DELAY, WAIT, OUT, IDX].into_iter().zip(inputs.iter().chain(&outputs));
        pairs().try_for_each(|(expected, tensor)| expected.check_name(*tensor))?;
        let [vector, delay] = [inputs[0].dims, inputs[1].dims];
        check(vector.len() == 1, || {
            format!("expected IN shape to have one dimension, got {}", shape_text(vector))
        })?;
        check_same_shape(vector, delay)?;
        pairs().skip(2).try_for_each(|(expected, tensor)| expected.check_single(*tensor))?;
        pairs().try_for_each(|(expected, tensor)| expected.check_datatype(*tensor))?;
        let policy = config.model_transaction_policy.as_ref();
        Ok(Self { decoupled: policy.is_some_and(|policy| policy.decoupled) })
    }

    pub(crate) fn execute(&self, batch: &mut Batch<'_>) {
        let begin = Instant::now();
        batch.mark_input_done();
        let mut wait = Duration::ZERO;
        for (index, request) in batch.requests().iter().enumerate() {
            let answered = Order::of(request).and_then(|order| {
                wait = wait.max(order.wait);
                self.answer(batch, index, &order)
            });
            if let Err(error) = answered {
                batch.respond_error(index, error);
            }
        }
        let _over = batch.pause(wait.saturating_sub(begin.elapsed()));
    }

    fn answer(&self, batch: &mut Batch<'_>, index: usize, order: &Order) -> Result<(), WorkerError> {
        check(self.decoupled || order.values.len() == 1, || {
            let count = order.values.len();
            format!("a model that is not decoupled gives one response to a request, not {count}")
        })?;
        for (place, (value, delay)) in (0_u32..).zip(order.values.iter().zip(&order.delays)) {
            match batch.pause_for(index, *delay) {
                Pause::Elapsed => {}
                Pause::Cancelled => return Err(WorkerError::cancelled("the request was cancelled")),
                Pause::SupervisorGone => return Ok(()),
            }
            batch.output(index, OUT.name, DataType::Int32, &[1])?.copy_from_slice(&value.to_le_bytes());
            batch.output(index, IDX.name, DataType::Uint32, &[1])?.copy_from_slice(&place.to_le_bytes());
            if self.decoupled {
                batch.respond_now(index, false)?;
            }
        }
        if self.decoupled { batch.respond_now(index, true) } else { Ok(()) }
    }
}

impl Order {
    fn of(request: &Request) -> Result<Self, WorkerError> {
        let input = |expected: Expected| {
            request.input(expected.name).ok_or_else(|| {
                WorkerError::invalid_argument(format!("the request has no input '{}'", expected.name))
            })
        };
        let (vector, delays, wait) = (input(IN)?, input(DELAY)?, input(WAIT)?);
        let milliseconds = |bytes: &[u8]| {
            let numbers = bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number));
            numbers.map(|number| Duration::from_millis(number.into())).collect::<Vec<_>>()
        };
        let [wait] = milliseconds(wait.bytes())[..] else {
            return Err(WorkerError::invalid_argument("unexpected size for WAIT input"));
        };
        check_same_shape(vector.shape(), delays.shape())?;
        let values = vector.bytes().as_chunks().0.iter().map(|number| i32::from_le_bytes(*number)).collect();
        Ok(Self { values, delays: milliseconds(delays.bytes()), wait })
    }
}

fn check_same_shape(vector: &[i64], delay: &[i64]) -> Result<(), WorkerError> {
    check(vector == delay, || {
        let (vector, delay) = (shape_text(vector), shape_text(delay));
        format!("expected IN and DELAY shape to match, got {vector} and {delay}")
    })
}
