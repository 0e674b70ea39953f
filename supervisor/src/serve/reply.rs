//! What came back: checked ([`super::outputs`]), split among the requests of the batch; each ticket ends exactly once.

use std::time::Instant;

use nereid_core::error::{ErrorKind, ServeError};
use nereid_core::ids::{BatchId, Ticket};
use nereid_core::schedule::RejectReason;
use nereid_core::stats::{ComputeTime, FailureReason};
use nereid_proto::worker::{Executed, Failure, Parameter, Response, Timing, parameter::Value};

use super::dispatch::InFlight;
use super::model::Model;
use super::outputs::{self, Outputs, Slots};
use super::request::{InferResponse, OutputTensor, ParameterValue};
use super::tickets::{Answer, Pending};
use super::version::VersionShared;
use crate::clock;

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
    // What nobody holds any longer goes back before the next batch is chosen.
    drop(slots);
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
    let read = outputs::read(connection, &mut response, slots, &pending.request.outputs, &pending.bytes)?;
    let Outputs { tensors, copies } = match read {
        Ok(outputs) => outputs,
        Err(error) => {
            pending.responses = pending.responses.saturating_add(1);
            pending.first_response.get_or_insert(Err(error));
            return Ok(());
        }
    };
    // An empty final response only says that there are no more.
    if response.r#final && response.error.is_none() && tensors.is_empty() && pending.responses > 0 {
        return Ok(());
    }
    pending.responses = pending.responses.saturating_add(1);
    if pending.responses == 1 {
        pending.first_response = Some(answer(&model.shared, pending, response, tensors));
        pending.copies = copies;
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
    Ok(InferResponse {
        model: shared.name.clone(),
        version: shared.version,
        id: pending.request.id.clone(),
        parameters: response.parameters.into_iter().filter_map(parameter).collect(),
        outputs,
    })
}

/// Ends a ticket whose batch has ended.
fn finish(shared: &VersionShared, pending: Pending, times: ComputeTime) {
    let Pending { answer, queued: facts, first_response, copies, responses, arrived, started, bytes, .. } =
        pending;
    let result = match (responses, first_response) {
        (1, Some(result)) => result,
        (count, _) => Err(ServeError::internal(format!("expected a single response, got {count}"))),
    };
    {
        let mut stats = shared.stats();
        match &result {
            Ok(_) => {
                let queued = started.unwrap_or(arrived).saturating_duration_since(arrived);
                stats.record_success(u64::from(facts.batch_size), arrived.elapsed(), queued, times);
            }
            Err(error) if error.kind == ErrorKind::Cancelled => {
                stats.record_failure(FailureReason::Canceled, arrived.elapsed());
            }
            Err(_) => stats.record_failure(FailureReason::Backend, arrived.elapsed()),
        }
    }
    match result {
        Ok(response) if !copies.is_empty() => {
            tokio::spawn(async move {
                let _ = answer.send(outputs::copy(response, copies).await);
                drop(bytes);
            });
        }
        // The client may be gone; then nobody hears it.
        result => drop(answer.send(result)),
    }
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
    end(shared, pending, error, FailureReason::Rejected);
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
    ServeError { kind, message: failure.message, retry_after: None }
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
