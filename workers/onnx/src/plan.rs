//! What a run needs to know of each tensor, worked out once when the model is loaded.
//!
//! The shapes of most outputs follow from those of the inputs: sizes are fixed, or the batch, or carry the same symbol
//! as a size of an input. Such an output is written where the supervisor reads it; the others are copied there.
//! Deliberately not here: running.

mod reshape;
#[cfg(test)]
mod tests;

use crate::{
    check::effective,
    ffi::session::{Port, Session},
    session::datatype,
};
use nereid_ipc::DataType;
use nereid_proto::inference::{BatchInput, ModelConfig, ModelTensorReshape};
use nereid_worker::WorkerError;
use reshape::Reshape;

/// All tensors of a model, by their place in the session.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) model: String,
    /// Whether the first dimension of every tensor is the batch.
    pub(crate) batched: bool,
    /// In the order of `Session::all_inputs`; none for what no request can carry.
    pub(crate) inputs: Vec<Option<Input>>,
    /// In the order of `Session::outputs`; none likewise.
    pub(crate) outputs: Vec<Option<Output>>,
    /// Inputs that are made from other inputs.
    pub(crate) made: Vec<Made>,
}

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) datatype: DataType,
    /// The model takes a scalar, whatever sizes of 1 a request writes.
    scalar: bool,
    reshape: Option<Reshape>,
    /// Requests lie in one dimension, one after the other.
    pub(crate) ragged: bool,
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) datatype: DataType,
    /// Whether a request that names no output wants it. States are wanted by name only.
    pub(crate) configured: bool,
    /// What the model says of its shape, if that tells the shape of a run; forgotten when it proves wrong.
    pub(crate) sizes: Option<Vec<Size>>,
    /// What the configuration calls the model's scalar.
    scalar: Option<Vec<i64>>,
    reshape: Option<Reshape>,
    /// The input whose shapes say how the output is split, and the configuration's sizes.
    pub(crate) scatter: Option<Scatter>,
}

/// One size of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Fixed(i64),
    /// Rows of all requests.
    Batch,
    /// As the input of that place has it in that dimension.
    SameAs {
        input: usize,
        dimension: usize,
    },
}

/// A batch output.
#[derive(Debug)]
pub(crate) struct Scatter {
    pub(crate) source: String,
    pub(crate) dims: Vec<i64>,
}

/// A batch input and the places of its targets.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) config: BatchInput,
    pub(crate) targets: Vec<usize>,
}

impl Plan {
    /// Works it out for a configuration that fits the session.
    pub(crate) fn new(config: &ModelConfig, session: &Session) -> Result<Self, WorkerError> {
        let batched = config.max_batch_size > 0;
        let inputs = session.all_inputs().iter().map(|port| plan_input(config, port, batched));
        let outputs = session.outputs().iter().map(|port| plan_output(config, session, port, batched));
        let made = config.batch_input.iter().map(|input| {
            let place = |target: &String| {
                let place = session.all_inputs().iter().position(|port| port.name == *target);
                place.ok_or_else(|| {
                    WorkerError::invalid_argument(format!(
                        "unable to load model '{}', batch input '{target}' is no input of the model",
                        config.name
                    ))
                })
            };
            let targets = input.target_name.iter().map(place).collect::<Result<_, _>>()?;
            Ok(Made { config: input.clone(), targets })
        });
        Ok(Self {
            model: config.name.clone(),
            batched,
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            made: made.collect::<Result<_, WorkerError>>()?,
        })
    }

    /// The place of an input. The search begins at `hint`, since requests mostly keep the model's order.
    pub(crate) fn find_input(&self, name: &str, hint: usize) -> Option<(usize, &Input)> {
        let (before, after) = self.inputs.split_at(hint.min(self.inputs.len()));
        let after = after.iter().enumerate().map(|(place, input)| (place + before.len(), input));
        let mut all = after.chain(before.iter().enumerate());
        all.find_map(|(place, input)| Some((place, input.as_ref().filter(|input| input.name == name)?)))
    }
}

fn plan_input(config: &ModelConfig, port: &Port, batched: bool) -> Option<Input> {
    let datatype = datatype(port).ok()?;
    let configured = config.input.iter().find(|input| input.name == port.name);
    let reshape = configured.and_then(|input| {
        let ModelTensorReshape { shape } = input.reshape.clone()?;
        Some(Reshape::new(input.dims.clone(), shape, batched))
    });
    Some(Input {
        name: port.name.clone(),
        datatype,
        scalar: port.shape.is_empty(),
        reshape,
        ragged: configured.is_some_and(|input| input.allow_ragged_batch),
    })
}

fn plan_output(config: &ModelConfig, session: &Session, port: &Port, batched: bool) -> Option<Output> {
    let datatype = datatype(port).ok()?;
    let configured = config.output.iter().find(|output| output.name == port.name);
    let reshape = configured.and_then(|output| {
        let ModelTensorReshape { shape } = output.reshape.clone()?;
        Some(Reshape::new(shape, output.dims.clone(), batched))
    });
    let scatter = config.batch_output.iter().find(|batch| batch.target_name.contains(&port.name));
    let scatter = scatter.and_then(|batch| {
        Some(Scatter { source: batch.source_input.first()?.clone(), dims: configured?.dims.clone() })
    });
    let scalar = port.shape.is_empty().then(|| {
        configured.map(|output| effective(output.reshape.as_ref(), &output.dims).to_vec()).unwrap_or_default()
    });
    // Strings have no place in shared memory, and what is scattered is no batch.
    let known = datatype != DataType::Bytes && scatter.is_none();
    Some(Output {
        name: port.name.clone(),
        datatype,
        configured: configured.is_some(),
        sizes: if known { sizes(session, port, batched) } else { None },
        scalar,
        reshape,
        scatter,
    })
}

/// The sizes of an output, if all of them are known before a run.
fn sizes(session: &Session, port: &Port, batched: bool) -> Option<Vec<Size>> {
    let size = |(dimension, (&size, symbol)): (usize, (&i64, &String))| {
        if batched && dimension == 0 {
            return Some(Size::Batch);
        }
        if size >= 0 {
            return Some(Size::Fixed(size));
        }
        if symbol.is_empty() {
            return None;
        }
        session.all_inputs().iter().enumerate().find_map(|(input, port)| {
            let dimension = port.symbols.iter().position(|other| other == symbol)?;
            Some(Size::SameAs { input, dimension })
        })
    };
    port.shape.iter().zip(&port.symbols).enumerate().map(size).collect()
}

impl Input {
    /// Turns the shape of the requests into the one that the model takes.
    pub(crate) fn to_model(&self, shape: &mut Vec<i64>) {
        if self.scalar {
            shape.clear();
        } else if let Some(reshape) = &self.reshape {
            reshape.apply(shape);
        }
    }
}

impl Output {
    /// Turns the model's shape into the one that requests get.
    pub(crate) fn to_request(&self, shape: &mut Vec<i64>) {
        match (&self.scalar, &self.reshape) {
            (Some(dims), _) if shape.is_empty() => shape.extend_from_slice(dims),
            (_, Some(reshape)) => reshape.apply(shape),
            _ => {}
        }
    }
}
