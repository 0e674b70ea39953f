//! Performs Run: the requests of a batch are gathered into the arena of the instance and handed to its worker.
//!
//! The rows of one input of all requests lie next to each other, in the order of the requests, so that a worker can
//! take the batch as one tensor. Bytes are copied once, from the network's buffers; a copy large enough to be felt
//! is made on a thread of the blocking pool and comes back as a message.

use nereid_core::error::ServeError;
use nereid_core::ids::{BatchId, Generation, InstanceId, Ticket};
use nereid_core::machine::Machine;
use nereid_core::schedule::{Event, RejectReason};
use nereid_ipc::arena::{ArenaError, Lease, OutOfBounds};
use nereid_proto::datatype::DataType;
use nereid_proto::worker::{Execute, Parameter, Request, Tensor, parameter::Value, request};

use super::model::{Message, Model};
use super::reply;
use super::request::{Correlation, InferRequest, ParameterValue};
use super::tensor_data::TensorData;
use super::tickets::Pending;
use crate::clock;
use crate::fleet::connection::{Connection, ConnectionError, LeaseError};

/// Every input starts at a multiple of this: what vector units and frameworks want.
const ALIGNMENT: usize = 64;
/// From this size on a copy would hold the scheduler's task up for longer than a hop to another thread costs.
const INLINE_COPY_BYTES_MAX: usize = 256 * 1024;

const SEQUENCE_START: u32 = 1;
const SEQUENCE_END: u32 = 2;

/// A batch that a worker has in its hands.
#[derive(Debug)]
pub struct InFlight {
    pub instance: InstanceId,
    pub tickets: Vec<Ticket>,
    /// Rows of all its requests.
    pub rows: u32,
    pub started: std::time::Instant,
    /// Where the inputs lie; returns to the arena when the batch has ended.
    pub inputs: Option<Lease>,
}

/// A batch whose inputs were copied on another thread.
#[derive(Debug)]
pub struct Gathered {
    instance: InstanceId,
    generation: Generation,
    execute: Execute,
    inputs: Lease,
}

/// What goes where in a batch's lease.
struct Layout {
    length: usize,
    /// (request, input of that request, offset in the lease).
    places: Vec<(usize, usize, usize)>,
}

impl Model {
    pub(super) fn dispatch(&mut self, instance: InstanceId, batch: BatchId, tickets: Vec<Ticket>) {
        let started = std::time::Instant::now();
        let mut rows = 0;
        for ticket in &tickets {
            if let Some(pending) = self.pending.get_mut(ticket) {
                pending.started = Some(started);
                rows += pending.queued.batch_size;
            }
        }
        self.in_flight.insert(batch, InFlight { instance, tickets, rows, started, inputs: None });
        let index = instance.0 as usize;
        if let Err(error) = self.start(index, batch) {
            self.not_started(instance, batch, error);
        }
    }

    /// A batch did not reach its worker.
    fn not_started(&mut self, instance: InstanceId, batch: BatchId, error: LeaseError) {
        match error {
            // Nobody saw these requests: they go to the next worker.
            LeaseError::Connection(error @ (ConnectionError::Closed | ConnectionError::Violation(_))) => {
                self.requeue(instance, batch);
                self.broken(instance.0 as usize, error);
            }
            // Each alone is small enough; together they are not.
            LeaseError::Connection(ConnectionError::TooLarge { .. }) if self.is_shared(batch) => {
                self.keep_apart(batch);
                self.requeue(instance, batch);
            }
            LeaseError::Connection(error @ ConnectionError::TooLarge { .. }) => {
                self.fail_batch(instance, batch, &ServeError::invalid(error.to_string()));
            }
            LeaseError::Connection(error @ ConnectionError::Local(_)) => {
                self.fail_batch(instance, batch, &ServeError::unavailable(error.to_string()));
            }
            LeaseError::Arena(error) => self.no_room(instance, batch, &error),
        }
    }

    /// The inputs of a batch do not fit into the instance's arena now.
    fn no_room(&mut self, instance: InstanceId, batch: BatchId, error: &ArenaError) {
        let others = self.in_flight.iter().any(|(other, held)| *other != batch && held.instance == instance);
        if others {
            // They will, when what the worker holds has ended: until then it gets nothing more.
            self.requeue(instance, batch);
            self.one_at_a_time(instance);
            return;
        }
        let error = match error {
            ArenaError::LimitReached { needed, limit, .. } if needed > limit => ServeError::invalid(format!(
                "the inputs of the batch have {needed} bytes, more than an instance may hold; send less at once or \
                 raise --arena-byte-size, which is {limit}"
            )),
            error => ServeError::unavailable(format!("no memory for the inputs of the batch: {error}")),
        };
        self.fail_batch(instance, batch, &error);
    }

    fn is_shared(&self, batch: BatchId) -> bool {
        self.in_flight.get(&batch).is_some_and(|in_flight| in_flight.tickets.len() > 1)
    }

    /// Gives each request of a batch a key of its own, so that they never share one again.
    fn keep_apart(&mut self, batch: BatchId) {
        let Some(in_flight) = self.in_flight.get(&batch) else { return };
        for ticket in &in_flight.tickets {
            if let Some(pending) = self.pending.get_mut(ticket) {
                pending.queued.shape_key = !ticket.0;
            }
        }
    }

    /// Takes back a batch that no worker has seen.
    fn requeue(&mut self, instance: InstanceId, batch: BatchId) {
        let Some(in_flight) = self.in_flight.remove(&batch) else { return };
        let now = clock::now();
        self.scheduler.handle(now, Event::Finished { instance, batch });
        for ticket in in_flight.tickets {
            if self.pending.get(&ticket).is_some_and(|pending| pending.answer.is_closed()) {
                self.reject(ticket, &RejectReason::Cancelled);
            } else if let Some(pending) = self.pending.get_mut(&ticket) {
                pending.started = None;
                let queued = pending.queued.clone();
                self.scheduler.handle(now, Event::Enqueue(queued));
            }
        }
    }

    fn start(&mut self, index: usize, batch: BatchId) -> Result<(), LeaseError> {
        // Without a connection the worker is dying.
        let connection = self.connections[index].as_mut().ok_or(ConnectionError::Closed)?;
        let Some(in_flight) = self.in_flight.get_mut(&batch) else { return Ok(()) };
        let requests: Vec<(Ticket, &Pending)> = in_flight
            .tickets
            .iter()
            .filter_map(|ticket| self.pending.get(ticket).map(|pending| (*ticket, &**pending)))
            .collect();
        let layout = Layout::of(&requests);
        if layout.places.is_empty() {
            let execute =
                Execute { batch: batch.0, requests: describe(&requests, &layout, None), released: vec![] };
            return Ok(connection.execute(execute)?);
        }
        let mut lease = connection.lease(layout.length.max(1) as u64)?;
        let execute = Execute {
            batch: batch.0,
            requests: describe(&requests, &layout, Some(&lease)),
            released: vec![],
        };
        if layout.length <= INLINE_COPY_BYTES_MAX {
            for &(request, input, offset) in &layout.places {
                let data = &requests[request].1.request.inputs[input].data;
                write(&mut lease, offset, data).map_err(ArenaError::from)?;
            }
            in_flight.inputs = Some(lease);
            return Ok(connection.execute(execute)?);
        }
        let parts = layout
            .places
            .iter()
            .map(|&(request, input, offset)| (offset, requests[request].1.request.inputs[input].data.clone()))
            .collect();
        self.gather_elsewhere(index, execute, lease, parts);
        Ok(())
    }

    /// Copies on a thread of the blocking pool, then sends itself the result.
    fn gather_elsewhere(
        &self,
        index: usize,
        execute: Execute,
        mut inputs: Lease,
        parts: Vec<(usize, TensorData)>,
    ) {
        let (Some(connection), Some(sender)) = (&self.connections[index], self.self_sender.upgrade()) else {
            return;
        };
        let Connection { instance, generation, .. } = **connection;
        tokio::spawn(async move {
            let copied = tokio::task::spawn_blocking(move || {
                parts.iter().try_for_each(|(offset, data)| write(&mut inputs, *offset, data)).map(|()| inputs)
            });
            // A failed join means that the runtime is going down, and the model's task with it; the layout is ours, so
            // every part fits.
            if let Ok(Ok(inputs)) = copied.await {
                let gathered = Gathered { instance, generation, execute, inputs };
                let _ = sender.send(Message::Gathered(Box::new(gathered))).await;
            }
        });
    }

    pub(super) fn send_gathered(&mut self, gathered: Gathered) {
        let Gathered { instance, generation, execute, inputs } = gathered;
        let index = instance.0 as usize;
        let Some(in_flight) = self.in_flight.get_mut(&BatchId(execute.batch)) else { return };
        let batch = BatchId(execute.batch);
        let connection = self.connections[index].as_mut();
        let sent = match connection.filter(|connection| connection.generation == generation) {
            Some(connection) => connection.execute(execute),
            None => Err(ConnectionError::Closed),
        };
        match sent {
            Ok(()) => in_flight.inputs = Some(inputs),
            Err(error) => self.not_started(instance, batch, error.into()),
        }
    }

    /// Ends a batch that never reached its worker.
    fn fail_batch(&mut self, instance: InstanceId, batch: BatchId, error: &ServeError) {
        if let Some(in_flight) = self.in_flight.remove(&batch) {
            for ticket in in_flight.tickets {
                if let Some(pending) = self.pending.remove(&ticket) {
                    reply::fail(&self.shared, *pending, error.clone());
                }
            }
        }
        self.scheduler.handle(clock::now(), Event::Finished { instance, batch });
    }
}

/// Copies a tensor, piece by piece.
fn write(lease: &mut Lease, mut offset: usize, data: &TensorData) -> Result<(), OutOfBounds> {
    for piece in data.pieces() {
        lease.write_at(offset, piece)?;
        offset += piece.len();
    }
    Ok(())
}

impl Layout {
    fn of(requests: &[(Ticket, &Pending)]) -> Self {
        let mut layout = Self { length: 0, places: Vec::with_capacity(requests.len() * 2) };
        let Some((_, first)) = requests.first() else { return layout };
        for (input, tensor) in first.request.inputs.iter().enumerate() {
            layout.length = layout.length.next_multiple_of(ALIGNMENT);
            layout.place(0, input, &tensor.data);
            for (request, (_, pending)) in requests.iter().enumerate().skip(1) {
                let inputs = &pending.request.inputs;
                // Nearly always the same position in every request.
                let same = inputs.get(input).filter(|other| other.name == tensor.name).map(|_| input);
                if let Some(other) =
                    same.or_else(|| inputs.iter().position(|other| other.name == tensor.name))
                {
                    layout.place(request, other, &inputs[other].data);
                }
            }
        }
        layout.place_rest(requests);
        layout
    }

    fn place(&mut self, request: usize, input: usize, data: &TensorData) {
        self.places.push((request, input, self.length));
        self.length += data.len();
    }

    /// Inputs that the first request does not have.
    fn place_rest(&mut self, requests: &[(Ticket, &Pending)]) {
        let total: usize = requests.iter().map(|(_, pending)| pending.request.inputs.len()).sum();
        if self.places.len() == total {
            return;
        }
        for (request, (_, pending)) in requests.iter().enumerate().skip(1) {
            for (input, tensor) in pending.request.inputs.iter().enumerate() {
                if !self.places.iter().any(|&(r, i, _)| (r, i) == (request, input)) {
                    self.length = self.length.next_multiple_of(ALIGNMENT);
                    self.place(request, input, &tensor.data);
                }
            }
        }
    }
}

fn describe(requests: &[(Ticket, &Pending)], layout: &Layout, lease: Option<&Lease>) -> Vec<Request> {
    let mut described: Vec<Request> =
        requests.iter().map(|(ticket, pending)| describe_request(*ticket, &pending.request)).collect();
    let Some(lease) = lease else { return described };
    for &(request, input, offset) in &layout.places {
        let tensor = &requests[request].1.request.inputs[input];
        described[request].inputs.push(Tensor {
            name: tensor.name.clone(),
            data_type: DataType::from_proto(tensor.datatype).map_or(0, DataType::number),
            shape: tensor.shape.clone(),
            segment: lease.segment(),
            offset: lease.offset() + offset as u64,
            length: tensor.data.len() as u64,
            slot: 0,
        });
    }
    described
}

fn describe_request(ticket: Ticket, request: &InferRequest) -> Request {
    let mut flags = 0;
    if request.sequence_start {
        flags |= SEQUENCE_START;
    }
    if request.sequence_end {
        flags |= SEQUENCE_END;
    }
    Request {
        ticket: ticket.0,
        id: request.id.clone(),
        correlation: match &request.correlation {
            Correlation::None => None,
            Correlation::Number(number) => Some(request::Correlation::CorrelationNumber(*number)),
            Correlation::Text(text) => Some(request::Correlation::CorrelationText(text.clone())),
        },
        flags,
        priority: request.priority,
        timeout_us: request.timeout_us,
        inputs: Vec::with_capacity(request.inputs.len()),
        requested_outputs: request.outputs.clone(),
        parameters: request.parameters.iter().map(describe_parameter).collect(),
    }
}

fn describe_parameter((name, value): &(String, ParameterValue)) -> Parameter {
    Parameter {
        name: name.clone(),
        value: Some(match value {
            ParameterValue::Bool(value) => Value::BoolValue(*value),
            ParameterValue::Int64(value) => Value::Int64Value(*value),
            ParameterValue::Double(value) => Value::DoubleValue(*value),
            ParameterValue::String(value) => Value::StringValue(value.clone()),
            ParameterValue::Bytes(value) => Value::BytesValue(value.clone()),
        }),
    }
}
