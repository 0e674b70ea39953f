//! What came back: checked, read, split among the requests of the batch; each ticket ends exactly once.
//!
//! Outputs are read in place when they are large: the body that goes to the network is a slice of the worker's
//! output memory, given back when the network has taken it. Small ones are copied out, and so are large ones once
//! slow clients pin half of an instance's output memory; those copies count as bytes in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use nereid_core::error::{ErrorKind, ServeError};
use nereid_core::ids::{BatchId, InstanceId, Ticket};
use nereid_core::schedule::RejectReason;
use nereid_core::stats::{ComputeTime, FailureReason};
use nereid_ipc::arena::OutputView;
use nereid_proto::inference::DataType;
use nereid_proto::worker::{Executed, Failure, Parameter, Response, Timing, parameter::Value};

use super::admission::InflightBytes;
use super::dispatch::InFlight;
use super::model::Model;
use super::request::{InferResponse, OutputTensor, ParameterValue};
use super::tickets::{Answer, Pending};
use super::version::VersionShared;
use crate::clock;
use crate::fleet::connection::{Connection, Returns};

/// Up to this size an output is copied out at once, which is cheaper than keeping account of its place.
const COPY_OUT_BYTES_MAX: u64 = 16 * 1024;

/// A batch has ended. `Err`: the worker broke the protocol, and how.
pub(super) fn executed(model: &mut Model, instance: usize, executed: Executed) -> Result<(), String> {
    let batch = BatchId(executed.batch);
    if model.in_flight.get(&batch).is_none_or(|in_flight| in_flight.instance.0 as usize != instance) {
        return Err(format!("answered batch {batch}, which it does not hold"));
    }
    // One allocation of the worker's may hold rows of several requests, so the slots are shared by the whole batch.
    let mut slots = Slots::default();
    for answer in executed.responses {
        response_of(model, instance, batch, answer, &mut slots)?;
    }
    let Some(in_flight) = model.in_flight.remove(&batch) else { return Ok(()) };
    let times = times(executed.timing.unwrap_or_default(), in_flight.started);
    model.shared.stats().record_execution(u64::from(in_flight.rows), times, clock::epoch_ms());
    let InFlight { tickets, instance, .. } = in_flight;
    for ticket in tickets {
        if let Some(pending) = model.pending.remove(&ticket) {
            finish(&model.shared, *pending, times);
        }
    }
    model.finished(instance, batch, times.input + times.infer + times.output);
    Ok(())
}

/// One response before the end of its batch.
pub(super) fn response(model: &mut Model, instance: usize, response: Response) -> Result<(), String> {
    let ticket = Ticket(response.ticket);
    let batch = model
        .in_flight
        .iter()
        .find(|(_, held)| held.instance.0 as usize == instance && held.tickets.contains(&ticket))
        .map(|(batch, _)| *batch)
        .ok_or_else(|| format!("answered request {ticket}, which it does not hold"))?;
    response_of(model, instance, batch, response, &mut Slots::default())
}

fn response_of(
    model: &mut Model,
    instance: usize,
    batch: BatchId,
    mut response: Response,
    slots: &mut Slots,
) -> Result<(), String> {
    let ticket = Ticket(response.ticket);
    if !model.in_flight.get(&batch).is_some_and(|in_flight| in_flight.tickets.contains(&ticket)) {
        return Err(format!("answered request {ticket}, which is not in batch {batch}"));
    }
    let Some(connection) = model.connections[instance].as_ref() else { return Ok(()) };
    let Some(pending) = model.pending.get_mut(&ticket) else { return Ok(()) };
    let outputs = match read_outputs(connection, &mut response, slots, &pending.bytes)? {
        Ok(outputs) => outputs,
        Err(error) => {
            pending.responses = pending.responses.saturating_add(1);
            pending.first_response.get_or_insert(Err(error));
            return Ok(());
        }
    };
    // An empty final response only says that there are no more.
    if response.r#final && response.error.is_none() && outputs.is_empty() && pending.responses > 0 {
        return Ok(());
    }
    pending.responses = pending.responses.saturating_add(1);
    if pending.responses == 1 {
        pending.first_response = Some(answer(&model.shared, pending, response, outputs));
    }
    Ok(())
}

fn answer(
    shared: &VersionShared,
    pending: &Pending,
    response: Response,
    outputs: Vec<OutputTensor>,
) -> Answer {
    if let Some(failure) = response.error {
        return Err(error_of(failure));
    }
    for output in &outputs {
        if !shared.has_output(&output.name) {
            return Err(ServeError::internal(format!(
                "model '{}' gave output '{}', which its configuration does not have",
                shared.name, output.name
            )));
        }
    }
    let wanted = &pending.request.outputs;
    Ok(InferResponse {
        model: shared.name.clone(),
        version: shared.version,
        id: pending.request.id.clone(),
        parameters: response.parameters.into_iter().filter_map(parameter).collect(),
        outputs: if wanted.is_empty() {
            outputs
        } else {
            outputs.into_iter().filter(|output| wanted.contains(&output.name)).collect()
        },
    })
}

/// Ends a ticket whose batch has ended.
fn finish(shared: &VersionShared, pending: Pending, times: ComputeTime) {
    let Pending { answer, batch_size, first_response, responses, arrived, started, bytes, .. } = pending;
    let result = match (responses, first_response) {
        (1, Some(result)) => result,
        (count, _) => Err(ServeError::internal(format!("expected a single response, got {count}"))),
    };
    {
        let mut stats = shared.stats();
        match &result {
            Ok(_) => {
                let queued = started.unwrap_or(arrived).saturating_duration_since(arrived);
                stats.record_success(u64::from(batch_size), arrived.elapsed(), queued, times);
            }
            Err(error) if error.kind == ErrorKind::Cancelled => {
                stats.record_failure(FailureReason::Canceled, arrived.elapsed());
            }
            Err(_) => stats.record_failure(FailureReason::Backend, arrived.elapsed()),
        }
    }
    drop(bytes);
    // The client may be gone; then nobody hears it.
    let _ = answer.send(result);
}

/// Ends a ticket that the scheduler refused or took out of the queue.
pub(super) fn reject(shared: &VersionShared, pending: Pending, reason: &RejectReason) {
    let mut error = reason.to_error();
    if reason.has_request_id() {
        let id = match pending.request.id.as_str() {
            "" => "<id_unknown>",
            id => id,
        };
        error.message = format!("[request id: {id}] {}", error.message);
    }
    end(shared, pending, error, reason.into());
}

/// Ends a ticket whose worker died with it.
pub(super) fn lost(shared: &VersionShared, pending: Pending, instance: &str, cause: &str) {
    let error = ServeError::unavailable(format!(
        "model '{}' version {}: the worker of instance '{instance}' {cause} while it held this request",
        shared.name, shared.version
    ));
    end(shared, pending, error, FailureReason::Backend);
}

/// Ends a ticket that could not be given to a worker.
pub(super) fn fail(shared: &VersionShared, pending: Pending, error: ServeError) {
    end(shared, pending, error, FailureReason::Other);
}

/// Ends a ticket that is still there when the model's task ends.
pub(super) fn abandoned(shared: &VersionShared, pending: Pending, why: &str) {
    let error = ServeError::unavailable(format!("model '{}' version {}: {why}", shared.name, shared.version));
    end(shared, pending, error, FailureReason::Other);
}

fn end(shared: &VersionShared, pending: Pending, error: ServeError, reason: FailureReason) {
    shared.stats().record_failure(reason, pending.arrived.elapsed());
    drop(pending.bytes);
    let _ = pending.answer.send(Err(error));
}

/// The worker's figures, cut to what can be true: no more than the time that has passed.
fn times(timing: Timing, started: Instant) -> ComputeTime {
    let mut left = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let mut share = |nanos: u64| {
        let share = nanos.min(left);
        left -= share;
        std::time::Duration::from_nanos(share)
    };
    ComputeTime {
        input: share(timing.input_ns),
        infer: share(timing.infer_ns),
        output: share(timing.output_ns),
    }
}

/// An output slot, given back to the worker when the last tensor in it is done with.
#[derive(Debug)]
struct SlotGuard {
    slot: u64,
    bytes: AtomicU64,
    returns: Arc<Returns>,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.returns.unpin(*self.bytes.get_mut());
        self.returns.push(self.slot);
    }
}

/// The slots that the answers of one packet lie in.
#[derive(Debug, Default)]
struct Slots(Vec<Arc<SlotGuard>>);

impl Slots {
    fn guard(&mut self, slot: u64, returns: &Arc<Returns>) -> Arc<SlotGuard> {
        if let Some(guard) = self.0.iter().find(|guard| guard.slot == slot) {
            return Arc::clone(guard);
        }
        let guard = Arc::new(SlotGuard { slot, bytes: AtomicU64::new(0), returns: Arc::clone(returns) });
        self.0.push(Arc::clone(&guard));
        guard
    }
}

/// The outer error: the worker broke the protocol. The inner one: there is no room for the reply.
fn read_outputs(
    connection: &Connection,
    response: &mut Response,
    slots: &mut Slots,
    share: &InflightBytes,
) -> Result<Result<Vec<OutputTensor>, ServeError>, String> {
    let mut outputs = Vec::with_capacity(response.outputs.len());
    let mut refused = None;
    for tensor in std::mem::take(&mut response.outputs) {
        let view = connection
            .outputs()
            .take(tensor)
            .map_err(|error| format!("described an output wrongly: {error}"))?;
        let guard = slots.guard(view.slot, connection.returns());
        match read_output(connection, view, guard, share) {
            Ok(output) => outputs.push(output),
            Err(error) => refused = Some(error),
        }
    }
    Ok(refused.map_or(Ok(outputs), Err))
}

/// In place, copied at once, or copied on the account of the bytes in flight: see the module's text.
fn read_output(
    connection: &Connection,
    mut view: OutputView,
    guard: Arc<SlotGuard>,
    share: &InflightBytes,
) -> Result<OutputTensor, ServeError> {
    let length = view.len() as u64;
    let name = std::mem::take(&mut view.name);
    let shape = std::mem::take(&mut view.shape);
    let datatype = i32::try_from(view.datatype.number())
        .ok()
        .and_then(|number| DataType::try_from(number).ok())
        .unwrap_or(DataType::TypeInvalid);
    let data = if length <= COPY_OUT_BYTES_MAX {
        Bytes::from(view.copy())
    } else if connection.returns().pin(length, connection.pinned_max()) {
        guard.bytes.fetch_add(length, Ordering::Relaxed);
        view.into_bytes(guard)
    } else {
        let share = share.more(length)?;
        Bytes::from_owner(Copied { bytes: view.copy(), _share: share })
    };
    Ok(OutputTensor { name, datatype, shape, data })
}

/// An output that was copied out and counts as bytes in flight until the network has taken it.
struct Copied {
    bytes: Vec<u8>,
    _share: InflightBytes,
}

impl AsRef<[u8]> for Copied {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn error_of(failure: Failure) -> ServeError {
    let kind = match failure.code {
        1 => ErrorKind::Internal,
        2 => ErrorKind::NotFound,
        3 => ErrorKind::InvalidArgument,
        4 => ErrorKind::Unavailable,
        5 => ErrorKind::Unsupported,
        6 => ErrorKind::AlreadyExists,
        7 => ErrorKind::Cancelled,
        _ => ErrorKind::Unknown,
    };
    ServeError { kind, message: failure.message }
}

fn parameter(parameter: Parameter) -> Option<(String, ParameterValue)> {
    let value = match parameter.value? {
        Value::BoolValue(value) => ParameterValue::Bool(value),
        Value::Int64Value(value) => ParameterValue::Int64(value),
        Value::StringValue(value) => ParameterValue::String(value),
        Value::DoubleValue(value) => ParameterValue::Double(value),
        Value::BytesValue(value) => ParameterValue::Bytes(value),
    };
    Some((parameter.name, value))
}

/// For error texts: which instance is meant.
impl VersionShared {
    pub(super) fn instance_name(&self, instance: InstanceId) -> &str {
        self.instances.get(instance.0 as usize).map_or("?", |spec| spec.name.as_str())
    }
}
