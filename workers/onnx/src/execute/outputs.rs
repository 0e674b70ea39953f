//! What comes out: memory for outputs whose shape is known before, copies of the others, and each request's part.
//!
//! Deliberately not here: how a part is described to the supervisor, which is the harness's.

use super::{Group, inputs::Feed};
use crate::{
    check::shape_text,
    element,
    error::runtime_error,
    ffi::run::{Call, Made},
    plan::{Output, Plan, Scatter, Size},
};
use nereid_worker::{Batch, DataType, OutputBuffer, Request, WorkerError, elements::PREFIX};

/// One output that the session is asked for.
#[derive(Debug)]
pub(super) struct Target {
    /// As `Session::outputs` counts.
    pub(super) place: usize,
    /// As the model makes it, if that is known before.
    pub(super) shape: Vec<i64>,
    /// Where it is written to, if so.
    pub(super) buffer: Option<OutputBuffer>,
}

/// An output that the session allocated, where the supervisor can read it.
#[derive(Debug)]
pub(super) struct Copied {
    /// As the model made it.
    pub(super) shape: Vec<i64>,
    buffer: OutputBuffer,
}

/// The outputs that some request wants, with memory where possible.
pub(super) fn prepare(
    plan: &Plan,
    batch: &mut Batch<'_>,
    group: Group<'_>,
    feeds: &[Feed<'_>],
) -> Result<Vec<Target>, WorkerError> {
    let mut targets = Vec::with_capacity(plan.outputs.len());
    for (place, output) in plan.outputs.iter().enumerate() {
        let Some(output) = output else { continue };
        if !group.requests.iter().any(|request| wants(request, output)) {
            continue;
        }
        let mut target = Target { place, shape: Vec::new(), buffer: None };
        if let Some(length) = foresee(output, group.rows, feeds, &mut target.shape) {
            target.buffer = Some(batch.allocate(length)?);
        }
        targets.push(target);
    }
    Ok(targets)
}

fn wants(request: &Request, output: &Output) -> bool {
    if request.requested_outputs().is_empty() { output.configured } else { request.wants(&output.name) }
}

/// Puts the output's shape into `shape` and tells its length in bytes, if both are known.
fn foresee(output: &Output, rows: i64, feeds: &[Feed<'_>], shape: &mut Vec<i64>) -> Option<usize> {
    let mut length = output.datatype.byte_size()?;
    for size in output.sizes.as_ref()? {
        let size = match *size {
            Size::Fixed(size) => size,
            Size::Batch => rows,
            Size::SameAs { input, dimension } => {
                let feed = feeds.iter().find(|feed| feed.place == input)?;
                *feed.shape.get(dimension)?
            }
        };
        length = length.checked_mul(usize::try_from(size).ok()?)?;
        shape.push(size);
    }
    Some(length)
}

/// Copies what the session has allocated; none for what it has written in place.
pub(super) fn copy(
    plan: &Plan,
    batch: &mut Batch<'_>,
    call: &Call<'_>,
) -> Result<Vec<Option<Copied>>, WorkerError> {
    let one = |(position, place): (usize, usize)| {
        if call.was_given(position) {
            return Ok(None);
        }
        let mut shape = Vec::new();
        let made = call.made(position, &mut shape).map_err(runtime_error)?;
        let datatype = match made {
            Made::Fixed(element, _) => element::datatype(element),
            Made::Strings(..) => Some(DataType::Bytes),
        };
        let output = plan.outputs[place].as_ref().filter(|output| Some(output.datatype) == datatype);
        if output.is_none() {
            return Err(WorkerError::internal(format!(
                "an output of model '{}' has another type than the model declares",
                plan.model
            )));
        }
        let buffer = copy_one(batch, made)?;
        Ok(Some(Copied { shape, buffer }))
    };
    call.asked_for().enumerate().map(one).collect()
}

fn copy_one(batch: &mut Batch<'_>, made: Made<'_>) -> Result<OutputBuffer, WorkerError> {
    match made {
        Made::Fixed(_, bytes) => {
            let mut buffer = batch.allocate(bytes.len())?;
            buffer.as_mut_slice().copy_from_slice(bytes);
            Ok(buffer)
        }
        Made::Strings(text, starts) => {
            let mut buffer = batch.allocate(text.len() + starts.len() * PREFIX)?;
            write_elements(buffer.as_mut_slice(), &text, &starts)?;
            Ok(buffer)
        }
    }
}

/// Writes each text after its length. `starts` tells where each begins in `texts`.
fn write_elements(mut target: &mut [u8], texts: &[u8], starts: &[usize]) -> Result<(), WorkerError> {
    let bad = || WorkerError::internal("the library tells impossible lengths of strings");
    let ends = starts.iter().skip(1).copied().chain([texts.len()]);
    for (&start, end) in starts.iter().zip(ends) {
        let text = texts.get(start..end).ok_or_else(bad)?;
        let length = u32::try_from(text.len())
            .map_err(|_| WorkerError::internal("an output element is longer than 32 bits can tell"))?;
        let (prefix, rest) = target.split_at_mut_checked(PREFIX).ok_or_else(bad)?;
        let (bytes, rest) = rest.split_at_mut_checked(text.len()).ok_or_else(bad)?;
        prefix.copy_from_slice(&length.to_le_bytes());
        bytes.copy_from_slice(text);
        target = rest;
    }
    Ok(())
}

/// Gives every request its part of every output.
pub(super) fn deliver(
    plan: &Plan,
    batch: &mut Batch<'_>,
    group: Group<'_>,
    targets: Vec<Target>,
    copied: Vec<Option<Copied>>,
) -> Result<(), WorkerError> {
    for (target, copied) in targets.into_iter().zip(copied) {
        let (shape, buffer) = match (copied, target.buffer) {
            (Some(copied), _) => (copied.shape, copied.buffer),
            (None, Some(buffer)) => (target.shape, buffer),
            (None, None) => continue,
        };
        let Some(output) = &plan.outputs[target.place] else { continue };
        if let Some(scatter) = &output.scatter {
            deliver_scattered(batch, group, output, scatter, buffer.as_slice())?;
        } else {
            deliver_one(plan, batch, group, output, (shape, buffer))?;
        }
    }
    Ok(())
}

fn deliver_one(
    plan: &Plan,
    batch: &mut Batch<'_>,
    group: Group<'_>,
    output: &Output,
    (mut shape, buffer): (Vec<i64>, OutputBuffer),
) -> Result<(), WorkerError> {
    if plan.batched && shape.first() != Some(&group.rows) {
        return Err(WorkerError::internal(format!(
            "output '{}' of model '{}' has shape {} for a batch of {} rows: with max_batch_size > 0 its first \
             dimension must be the batch",
            output.name,
            plan.model,
            shape_text(&shape),
            group.rows
        )));
    }
    output.to_request(&mut shape);
    let tensor = (output.datatype, shape.as_slice());
    if group.requests.len() == 1 {
        batch.attach(group.first, &output.name, tensor, buffer)
    } else {
        batch.attach_joined(&output.name, tensor, buffer)
    }
}

/// Splits an output by the shapes of an input: each request gets as many elements, one after the other.
fn deliver_scattered(
    batch: &mut Batch<'_>,
    group: Group<'_>,
    output: &Output,
    scatter: &Scatter,
    bytes: &[u8],
) -> Result<(), WorkerError> {
    let mut rest = bytes;
    for (index, request) in group.requests.iter().enumerate() {
        let source = request.input(&scatter.source);
        let source = source.ok_or_else(|| super::inputs::missing(&scatter.source, request))?.shape();
        let mut shape = source.get(..1).unwrap_or_default().to_vec();
        for (&size, &of_source) in scatter.dims.iter().zip(source.iter().skip(1)) {
            shape.push(if size == -1 { of_source } else { size });
        }
        let length = nereid_ipc::datatype::byte_len(output.datatype, &shape).ok().flatten();
        let length = length.and_then(|length| usize::try_from(length).ok());
        let part = length.and_then(|length| rest.split_at_checked(length));
        let Some((part, after)) = part else {
            return Err(WorkerError::internal(format!(
                "output '{}' has {} bytes, too few to be split by the shapes of input '{}'",
                output.name,
                bytes.len(),
                scatter.source
            )));
        };
        rest = after;
        if wants(request, output) {
            let target = batch.output(group.first + index, &output.name, output.datatype, &shape)?;
            target.copy_from_slice(part);
        }
    }
    Ok(())
}
