//! What the session is fed with: the inputs of all requests of a group, joined, under the shapes that the model takes.
//!
//! Deliberately not here: whether the requests may share a batch. The scheduler has seen to it.

use super::{Group, made};
use crate::{
    ffi::{OrtError, run::Call},
    plan::{Input, Plan},
};
use nereid_ipc::arena::InputView;
use nereid_worker::{Batch, DataType, Joined, Request, WorkerError, elements::elements};

/// One input of the session.
#[derive(Debug)]
pub(super) struct Feed<'b> {
    /// As `Session::all_inputs` counts.
    pub(super) place: usize,
    /// As the model takes it.
    pub(super) shape: Vec<i64>,
    strings: bool,
    bytes: Bytes<'b>,
}

#[derive(Debug)]
enum Bytes<'b> {
    /// One request's, in place.
    Lent(&'b [u8]),
    /// All requests', side by side or copied together.
    Joined(Joined),
    /// All requests', side by side.
    View(InputView),
    Own(Vec<u8>),
}

impl Bytes<'_> {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Joined(joined) => joined.bytes(),
            Self::View(view) => view.as_slice(),
            Self::Own(bytes) => bytes,
        }
    }
}

impl Feed<'_> {
    pub(super) fn pass<'m>(&'m self, call: &mut Call<'m>) -> Result<(), OrtError> {
        let bytes = self.bytes.as_slice();
        if self.strings {
            let elements =
                elements(bytes).map(|element| element.map_err(|error| OrtError::invalid(error.to_string())));
            return call.input_strings(self.place, &self.shape, elements);
        }
        call.input(self.place, bytes, &self.shape)
    }
}

/// Everything that the session is fed with for these requests.
pub(super) fn gather<'b>(
    plan: &Plan,
    batch: &Batch<'b>,
    group: Group<'b>,
) -> Result<Vec<Feed<'b>>, WorkerError> {
    let Some(first) = group.requests.first() else { return Ok(Vec::new()) };
    let mut feeds = Vec::with_capacity(first.inputs().len() + plan.made.len());
    for (hint, tensor) in first.inputs().iter().enumerate() {
        let name = tensor.name();
        let Some((place, input)) = plan.find_input(name, hint) else {
            return Err(WorkerError::invalid_argument(format!(
                "unexpected inference input '{name}' for model '{}'",
                plan.model
            )));
        };
        if tensor.datatype() != input.datatype {
            return Err(WorkerError::invalid_argument(format!(
                "inference input '{name}' data-type is '{}', but model '{}' expects '{}'",
                tensor.datatype(),
                plan.model,
                input.datatype
            )));
        }
        feeds.push(feed(input, place, batch, group)?);
    }
    for made in &plan.made {
        for &place in &made.targets {
            let (shape, bytes) = made::make(&made.config, group)?;
            feeds.push(Feed { place, shape, strings: false, bytes: Bytes::Own(bytes) });
        }
    }
    Ok(feeds)
}

fn feed<'b>(
    input: &Input,
    place: usize,
    batch: &Batch<'b>,
    group: Group<'b>,
) -> Result<Feed<'b>, WorkerError> {
    let strings = input.datatype == DataType::Bytes;
    if input.ragged {
        let (shape, bytes) = ragged(&input.name, group)?;
        return Ok(Feed { place, shape, strings, bytes });
    }
    let (mut shape, bytes) = if let [request] = group.requests {
        let tensor = request.input(&input.name).ok_or_else(|| missing(&input.name, request))?;
        (tensor.shape().to_vec(), Bytes::Lent(tensor.bytes()))
    } else {
        let joined = batch.joined_input(&input.name)?;
        (joined.shape().to_vec(), Bytes::Joined(joined))
    };
    input.to_model(&mut shape);
    Ok(Feed { place, shape, strings, bytes })
}

/// The elements of all requests in one dimension, whatever shape each has.
fn ragged<'b>(name: &str, group: Group<'b>) -> Result<(Vec<i64>, Bytes<'b>), WorkerError> {
    let tensors =
        group.requests.iter().map(|request| request.input(name).ok_or_else(|| missing(name, request)));
    let tensors = tensors.collect::<Result<Vec<_>, _>>()?;
    let count = tensors.iter().map(|tensor| tensor.elements()).fold(0, u64::saturating_add);
    let shape = vec![i64::try_from(count).unwrap_or(i64::MAX)];
    let views = || tensors.iter().map(|tensor| tensor.view());
    let in_place = views().next().and_then(|first| first.joined(views().skip(1)));
    let copy = || Bytes::Own(tensors.iter().flat_map(|tensor| tensor.bytes()).copied().collect());
    Ok((shape, in_place.map_or_else(copy, Bytes::View)))
}

pub(super) fn missing(name: &str, request: &Request) -> WorkerError {
    WorkerError::invalid_argument(format!("request '{}' has no input '{name}'", request.id()))
}
