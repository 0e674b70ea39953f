//! Checks an ensemble against the models of its steps, which have been loaded: the tensors that flow between them must
//! fit, and what several streams of responses produce must not meet again.
//!
//! Whether those models exist and may be used together is the caller's part.

use crate::config::datatype::config_name;
use crate::config::tensor::VARIABLE;
use crate::config::{Batching, ModelConfig};
use crate::error::ServeError;
use nereid_proto::inference::{ModelTensorReshape, model_ensembling::Step};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What is known of one of the ensemble's tensors.
#[derive(Debug)]
struct Tensor<'a> {
    /// The model that it was first met in.
    origin: &'a str,
    data_type: i32,
    dims: Vec<i64>,
    /// With the batch dimension of the model it was met in.
    full_dims: Vec<i64>,
    /// The step that writes it.
    writer: Option<usize>,
    /// The stream of responses it belongs to; 0 for the request's own.
    stream: Option<usize>,
}

impl<'a> Tensor<'a> {
    fn new(origin: &'a str, batched: bool, data_type: i32, dims: &[i64]) -> Self {
        let batch = batched.then_some(VARIABLE);
        let full_dims = batch.into_iter().chain(dims.iter().copied()).collect();
        Self { origin, data_type, dims: dims.to_vec(), full_dims, writer: None, stream: None }
    }

    /// Sizes may be unknown, and a model that batches may feed one whose dims include the batch.
    fn check_same(&self, other: &Self, context: &str) -> Result<(), ServeError> {
        if self.data_type != other.data_type {
            return Err(ServeError::invalid(format!(
                "{context}: inconsistent data type: {} is inferred from model {} while {} is inferred from model {}",
                config_name(self.data_type),
                self.origin,
                config_name(other.data_type),
                other.origin
            )));
        }
        if fit(&self.dims, &other.dims) || fit(&self.full_dims, &other.full_dims) {
            return Ok(());
        }
        Err(ServeError::invalid(format!(
            "{context}: inconsistent shape: {} is inferred from model {} while {} is inferred from model {}",
            dims_text(&self.full_dims),
            self.origin,
            dims_text(&other.full_dims),
            other.origin
        )))
    }
}

fn fit(left: &[i64], right: &[i64]) -> bool {
    let same = |(a, b): (&i64, &i64)| a == b || *a == VARIABLE || *b == VARIABLE;
    left.len() == right.len() && left.iter().zip(right).all(same)
}

fn dims_text(dims: &[i64]) -> String {
    let mut text = String::from("[");
    for (index, dim) in dims.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}{dim}");
    }
    text.push(']');
    text
}

/// Checks `ensemble` against its steps' models, which `model` finds by name, and tells whether it is decoupled: that
/// follows from its steps, whatever its own configuration says. `None` from `model` means the step can not be checked.
pub fn check_ensemble<'a>(
    ensemble: &'a ModelConfig,
    model: impl Fn(&'a str) -> Option<&'a ModelConfig>,
) -> Result<bool, ServeError> {
    let Batching::Ensemble(scheduling) = ensemble.batching() else { return Ok(ensemble.is_decoupled()) };
    let mut graph = Graph::new(ensemble);
    let mut steps = Vec::with_capacity(scheduling.step.len());
    for (index, step) in scheduling.step.iter().enumerate() {
        let Some(model) = model(&step.model_name) else {
            return Err(ServeError::invalid(format!(
                "ensemble {} contains models that are not available or ambiguous: {}",
                ensemble.name(),
                step.model_name
            )));
        };
        check_batch_size(ensemble, model)?;
        graph.add_inputs(step, model)?;
        graph.add_outputs(index, step, model)?;
        steps.push((step, model));
    }
    graph.follow_streams(&steps)
}

/// A model that does not batch may be part of an ensemble that does.
fn check_batch_size(ensemble: &ModelConfig, model: &ModelConfig) -> Result<(), ServeError> {
    let (outer, inner) = (ensemble.max_batch_size(), model.max_batch_size());
    if inner == 0 || inner >= outer {
        return Ok(());
    }
    Err(ServeError::invalid(format!(
        "ensemble {} allows maximum batch size {outer}, but it contains model {} which only allows maximum batch size \
         to be {inner}",
        ensemble.name(),
        model.name()
    )))
}

struct Graph<'a> {
    name: &'a str,
    tensors: BTreeMap<&'a str, Tensor<'a>>,
    inputs: Vec<&'a str>,
    outputs: Vec<&'a str>,
}

impl<'a> Graph<'a> {
    fn new(ensemble: &'a ModelConfig) -> Self {
        let (name, batched, raw) = (ensemble.name(), ensemble.has_batch_dimension(), ensemble.raw());
        let mut graph = Self {
            name,
            tensors: BTreeMap::new(),
            inputs: raw.input.iter().map(|input| input.name.as_str()).collect(),
            outputs: raw.output.iter().map(|output| output.name.as_str()).collect(),
        };
        let inputs =
            raw.input.iter().map(|io| (&io.name, io.data_type, shape(&io.dims, io.reshape.as_ref())));
        let outputs =
            raw.output.iter().map(|io| (&io.name, io.data_type, shape(&io.dims, io.reshape.as_ref())));
        for (tensor, data_type, dims) in inputs.chain(outputs) {
            graph.tensors.entry(tensor).or_insert_with(|| Tensor::new(name, batched, data_type, dims));
        }
        graph
    }

    /// Notes that `tensor` is also what `found` says.
    fn meet(&mut self, tensor: &'a str, found: Tensor<'a>) -> Result<&mut Tensor<'a>, ServeError> {
        if let Some(known) = self.tensors.get(tensor) {
            known.check_same(&found, &format!("in ensemble {}, ensemble tensor {tensor}", self.name))?;
        }
        Ok(self.tensors.entry(tensor).or_insert(found))
    }

    fn add_inputs(&mut self, step: &'a Step, model: &'a ModelConfig) -> Result<(), ServeError> {
        let name = self.name;
        for (input, tensor) in &step.input_map {
            if model.input(input).is_none() {
                return Err(ServeError::invalid(format!(
                    "in ensemble {name}, ensemble tensor {tensor} is mapping to non-existing input {input} in model {}",
                    step.model_name
                )));
            }
        }
        let batched = model.has_batch_dimension();
        for input in &model.raw().input {
            let Some(tensor) = step.input_map.get(&input.name) else {
                if input.optional {
                    continue;
                }
                return Err(ServeError::invalid(format!(
                    "in ensemble {name}, input {} in model {} is not mapped to any ensemble tensors",
                    input.name, step.model_name
                )));
            };
            self.meet(tensor, Tensor::new(&step.model_name, batched, input.data_type, &input.dims))?;
        }
        Ok(())
    }

    fn add_outputs(
        &mut self,
        index: usize,
        step: &'a Step,
        model: &'a ModelConfig,
    ) -> Result<(), ServeError> {
        let name = self.name;
        for (output, tensor) in &step.output_map {
            if model.output(output).is_none() {
                return Err(ServeError::invalid(format!(
                    "in ensemble {name}, ensemble tensor {tensor} is mapped from non-existing output {output} in model {}",
                    step.model_name
                )));
            }
        }
        let batched = model.has_batch_dimension();
        for (output, tensor) in &step.output_map {
            let mut same_name = model.raw().output.iter().filter(|io| io.name == *output);
            for io in same_name.by_ref().take(1) {
                let met =
                    self.meet(tensor, Tensor::new(&step.model_name, batched, io.data_type, &io.dims))?;
                met.writer = Some(index);
            }
            if same_name.next().is_some() {
                return Err(ServeError::invalid(format!(
                    "in ensemble {name}, multiple outputs in model {} are mapped to the same ensemble tensor {tensor}",
                    step.model_name
                )));
            }
        }
        Ok(())
    }

    /// Gives every tensor its stream, step by step as they become ready; a decoupled step begins a new one.
    fn follow_streams(&mut self, steps: &[(&'a Step, &'a ModelConfig)]) -> Result<bool, ServeError> {
        for input in self.inputs.clone() {
            self.set_stream(input, 0);
        }
        let mut streams = 0;
        let mut waiting: Vec<_> = steps.to_vec();
        loop {
            let is_ready = |step: &Step| step.input_map.values().all(|tensor| self.stream(tensor).is_some());
            let (ready, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(step, _)| is_ready(step));
            if ready.is_empty() {
                break;
            }
            for (step, model) in ready {
                let inherited =
                    self.common_stream(step.input_map.values().map(String::as_str), &step.model_name)?;
                let stream = if model.is_decoupled() {
                    streams += 1;
                    streams
                } else {
                    inherited
                };
                for tensor in step.output_map.values() {
                    self.set_stream(tensor, stream);
                }
            }
            waiting = later;
        }
        self.common_stream(self.outputs.iter().copied(), self.name)?;
        Ok(streams > 0)
    }

    fn stream(&self, tensor: &str) -> Option<usize> {
        self.tensors.get(tensor).and_then(|tensor| tensor.stream)
    }

    fn set_stream(&mut self, tensor: &str, stream: usize) {
        if let Some(tensor) = self.tensors.get_mut(tensor) {
            tensor.stream.get_or_insert(stream);
        }
    }

    /// The stream that all those tensors belong to. What needs two of them would never know which responses pair up.
    fn common_stream<'t>(
        &self,
        tensors: impl Iterator<Item = &'t str>,
        reader: &str,
    ) -> Result<usize, ServeError> {
        let mut common = None;
        for stream in tensors.filter_map(|tensor| self.stream(tensor)) {
            if *common.get_or_insert(stream) != stream {
                return Err(ServeError::invalid(format!(
                    "in ensemble {}, step of model '{reader}' receives inputs originated from different decoupled models",
                    self.name
                )));
            }
        }
        Ok(common.unwrap_or_default())
    }
}

/// An ensemble's tensors have the shape that they are given to the steps with.
fn shape<'a>(dims: &'a [i64], reshape: Option<&'a ModelTensorReshape>) -> &'a [i64] {
    reshape.map_or(dims, |reshape| &reshape.shape)
}

#[cfg(test)]
mod tests;
