//! A model's configuration, from the text an operator writes to a value that is known to be valid.
//!
//! The way of a configuration:
//!
//! ```text
//! config.pbtxt ─ pbtxt::parse ┐                       worker's Description
//! JSON override ─ json::parse ┴► RawConfig ─ autofill ─ normalise ─ complete ─ normalise_instance_groups
//!                                                                                      │
//!                                      ModelConfig ◄─ ModelConfig::new (validate) ◄────┘
//! ```
//!
//! [`RawConfig`] is the generated protobuf type and may say anything. [`ModelConfig`] can only be made by
//! [`ModelConfig::new`], so whoever holds one need not check it again. Reading files, listing directories and finding
//! GPUs is the caller's part: it passes texts, listings and [`ServerFacts`] in.

pub mod autofill;
pub mod change;
pub mod complete;
pub mod datatype;
pub mod instances;
pub mod json;
pub mod labels;
pub mod normalise;
pub mod pbtxt;
pub mod render;
mod schema;
pub mod tensor;
pub mod validate;
pub mod versions;

pub use autofill::{EntryKind, Listing};
pub use datatype::DataType;
pub use instances::{InstanceSpec, Placement};
pub use labels::Labels;
pub use tensor::{InputSpec, OutputSpec};
pub use versions::VersionPolicy;

use crate::error::ServeError;
use nereid_proto::inference::{self as pb, model_config::SchedulingChoice};
use tensor::NameIndex;

/// A configuration as it was written, or half completed.
pub type RawConfig = pb::ModelConfig;

/// What is true of the server rather than of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerFacts {
    /// Whether this server can run anything on a GPU at all. One that can may still have none at hand.
    pub supports_gpus: bool,
    /// The GPUs that models may use, ascending; may be empty.
    pub gpus: Vec<i32>,
    /// The least CUDA compute capability of those GPUs.
    pub min_compute_capability: f64,
}

impl Default for ServerFacts {
    /// A server that finds no GPU.
    fn default() -> Self {
        Self { supports_gpus: true, gpus: Vec::new(), min_compute_capability: MIN_COMPUTE_CAPABILITY }
    }
}

/// The least CUDA compute capability unless the operator says otherwise.
pub const MIN_COMPUTE_CAPABILITY: f64 = 7.5;

/// How a model's requests come to its instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Batching<'a> {
    /// One request at a time.
    Direct,
    Dynamic(&'a pb::ModelDynamicBatching),
    Sequence(&'a pb::ModelSequenceBatching),
    Ensemble(&'a pb::ModelEnsembling),
}

/// A valid, complete configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    raw: RawConfig,
    max_batch_size: u32,
    inputs: Vec<InputSpec>,
    outputs: Vec<OutputSpec>,
    input_index: NameIndex,
    output_index: NameIndex,
    required_inputs: usize,
    shape_seed: u64,
}

impl ModelConfig {
    /// Checks a completed configuration; the first error is the one that Triton would report.
    pub fn new(raw: RawConfig, facts: &ServerFacts) -> Result<Self, ServeError> {
        validate::validate(&raw, facts)?;
        let max_batch_size = u32::try_from(raw.max_batch_size).unwrap_or_default();
        let batched = max_batch_size > 0;
        let inputs: Vec<InputSpec> =
            raw.input.iter().filter_map(|input| InputSpec::of(input, batched)).collect();
        let outputs: Vec<OutputSpec> =
            raw.output.iter().filter_map(|output| OutputSpec::of(output, batched)).collect();
        debug_assert_eq!(
            (inputs.len(), outputs.len()),
            (raw.input.len(), raw.output.len()),
            "types are valid"
        );
        Ok(Self {
            input_index: NameIndex::of(inputs.iter().map(|input| input.name.as_str())),
            output_index: NameIndex::of(outputs.iter().map(|output| output.name.as_str())),
            required_inputs: inputs.iter().filter(|input| !input.optional).count(),
            max_batch_size,
            inputs,
            outputs,
            raw,
            shape_seed: 0,
        })
    }

    /// The same with a secret number mixed into the shape keys of requests, so that clients cannot make keys collide.
    #[must_use]
    pub const fn with_shape_seed(mut self, seed: u64) -> Self {
        self.shape_seed = seed;
        self
    }

    /// All that was configured, as protobuf.
    #[must_use]
    pub const fn raw(&self) -> &RawConfig {
        &self.raw
    }

    #[must_use]
    pub fn into_raw(self) -> RawConfig {
        self.raw
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.raw.name
    }

    #[must_use]
    pub fn backend(&self) -> &str {
        &self.raw.backend
    }

    /// What the metadata calls the platform: the platform, or the backend of a model that has none.
    #[must_use]
    pub fn platform(&self) -> &str {
        if self.raw.platform.is_empty() { &self.raw.backend } else { &self.raw.platform }
    }

    /// 0: tensors have no batch dimension.
    #[must_use]
    pub const fn max_batch_size(&self) -> u32 {
        self.max_batch_size
    }

    /// Whether tensors have a batch dimension.
    #[must_use]
    pub const fn has_batch_dimension(&self) -> bool {
        self.max_batch_size > 0
    }

    /// In the order of the configuration.
    #[must_use]
    pub fn inputs(&self) -> &[InputSpec] {
        &self.inputs
    }

    /// In the order of the configuration.
    #[must_use]
    pub fn outputs(&self) -> &[OutputSpec] {
        &self.outputs
    }

    /// Where an input of that name is among [`Self::inputs`].
    #[must_use]
    pub fn input_index(&self, name: &str) -> Option<usize> {
        self.input_index.find(name)
    }

    /// Where an output of that name is among [`Self::outputs`].
    #[must_use]
    pub fn output_index(&self, name: &str) -> Option<usize> {
        self.output_index.find(name)
    }

    #[must_use]
    pub fn input(&self, name: &str) -> Option<&InputSpec> {
        self.input_index(name).and_then(|index| self.inputs.get(index))
    }

    #[must_use]
    pub fn output(&self, name: &str) -> Option<&OutputSpec> {
        self.output_index(name).and_then(|index| self.outputs.get(index))
    }

    /// How many inputs a request must have.
    #[must_use]
    pub const fn required_inputs(&self) -> usize {
        self.required_inputs
    }

    pub(crate) const fn shape_seed(&self) -> u64 {
        self.shape_seed
    }

    /// Whether a request may have any number of responses.
    #[must_use]
    pub fn is_decoupled(&self) -> bool {
        self.raw.model_transaction_policy.as_ref().is_some_and(|policy| policy.decoupled)
    }

    #[must_use]
    pub fn caches_responses(&self) -> bool {
        self.raw.response_cache.as_ref().is_some_and(|cache| cache.enable)
    }

    #[must_use]
    pub const fn batching(&self) -> Batching<'_> {
        match &self.raw.scheduling_choice {
            None => Batching::Direct,
            Some(SchedulingChoice::DynamicBatching(dynamic)) => Batching::Dynamic(dynamic),
            Some(SchedulingChoice::SequenceBatching(sequence)) => Batching::Sequence(sequence),
            Some(SchedulingChoice::EnsembleScheduling(ensemble)) => Batching::Ensemble(ensemble),
        }
    }

    /// A free parameter's text.
    #[must_use]
    pub fn parameter(&self, key: &str) -> Option<&str> {
        self.raw.parameters.get(key).map(|parameter| parameter.string_value.as_str())
    }

    #[must_use]
    pub fn version_policy(&self) -> VersionPolicy {
        VersionPolicy::of(&self.raw)
    }

    /// The instances to start.
    #[must_use]
    pub fn instances(&self) -> Vec<InstanceSpec> {
        instances::instances(&self.raw)
    }

    /// What the config endpoint answers.
    #[must_use]
    pub fn to_json(&self) -> String {
        render::to_json(&self.raw)
    }
}

#[cfg(test)]
pub(crate) mod tests;
