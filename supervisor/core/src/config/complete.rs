//! Completes a configuration with what a worker found out about its model.
//!
//! A worker reports either facts (the tensors that the model file declares) or a configuration that the model's own
//! code proposes. Of neither is anything taken but the tensors, the batch size, the scheduling choice and the
//! transaction policy: a worker does not decide where it runs or what is served.

use super::normalise::normalise;
use super::tensor::VARIABLE;
use super::{DataType, RawConfig};
use crate::error::ServeError;
use nereid_proto::inference::{
    self as pb, ModelDynamicBatching, ModelInput, ModelOutput, ModelTensorReshape,
    model_config::SchedulingChoice,
};
use nereid_proto::worker::{Description, TensorFact, TensorFacts, description::Proposal};

/// The batch size of models that can batch and do not say how far, unless the operator sets another.
pub const DEFAULT_MAX_BATCH_SIZE: i32 = 4;
/// The operator's setting of that size, for one backend or for all.
pub const DEFAULT_MAX_BATCH_SIZE_KEY: &str = "default-max-batch-size";

/// Completes `raw` in place and normalises it again. Returns what an operator should hear.
pub fn complete(
    raw: &mut RawConfig,
    description: &Description,
    default_max_batch_size: i32,
) -> Result<Vec<String>, ServeError> {
    let warnings = match &description.proposal {
        Some(Proposal::Facts(facts)) => from_facts(raw, facts, default_max_batch_size)?,
        Some(Proposal::Config(proposed)) => {
            from_proposal(raw, proposed)?;
            Vec::new()
        }
        Some(Proposal::Nothing(_)) | None => Vec::new(),
    };
    normalise(raw);
    Ok(warnings)
}

/// Refuses a model that has no configuration file and whose worker has nothing to say about it.
pub fn check_provided(
    model_name: &str,
    has_file: bool,
    description: Option<&Description>,
) -> Result<(), ServeError> {
    let described = description.and_then(|description| description.proposal.as_ref());
    if has_file || matches!(described, Some(Proposal::Facts(_) | Proposal::Config(_))) {
        return Ok(());
    }
    Err(ServeError::not_found(format!("model configuration is not provided for model '{model_name}'")))
}

fn from_facts(
    raw: &mut RawConfig,
    facts: &TensorFacts,
    default_max_batch_size: i32,
) -> Result<Vec<String>, ServeError> {
    let has_inputs = !raw.input.is_empty() || !raw.batch_input.is_empty();
    let has_outputs = !raw.output.is_empty();
    if has_inputs && has_outputs {
        return Ok(Vec::new());
    }
    let mut warnings = Vec::new();
    let batches =
        facts.inputs.iter().chain(&facts.outputs).all(|tensor| tensor.shape.first() == Some(&VARIABLE));
    if !batches && raw.max_batch_size != 0 {
        return Err(ServeError::invalid(format!(
            "autofill failed for model '{}': model does not support batching while non-zero max_batch_size is specified",
            raw.name
        )));
    }
    if batches && raw.max_batch_size == 0 {
        raw.max_batch_size = default_max_batch_size.max(0);
        warnings.push(format!(
            "autofilled max_batch_size to {} for model '{}' since batching is supported but no max_batch_size is \
             specified in model configuration; set max_batch_size to choose another size",
            raw.max_batch_size, raw.name
        ));
    }
    if raw.max_batch_size > 1 && raw.scheduling_choice.is_none() {
        raw.scheduling_choice = Some(SchedulingChoice::DynamicBatching(ModelDynamicBatching::default()));
    }
    let batched = raw.max_batch_size > 0;
    if !has_inputs {
        raw.input = facts.inputs.iter().map(|fact| input(fact, batched)).collect();
    }
    if !has_outputs {
        raw.output = facts.outputs.iter().map(|fact| output(fact, batched)).collect();
    }
    Ok(warnings)
}

fn input(fact: &TensorFact, batched: bool) -> ModelInput {
    let (dims, reshape) = dims(fact, batched);
    ModelInput { name: fact.name.clone(), data_type: data_type(fact), dims, reshape, ..Default::default() }
}

fn output(fact: &TensorFact, batched: bool) -> ModelOutput {
    let (dims, reshape) = dims(fact, batched);
    ModelOutput { name: fact.name.clone(), data_type: data_type(fact), dims, reshape, ..Default::default() }
}

/// A number that is no type stays out of the configuration: validation then says which tensor lacks one.
fn data_type(fact: &TensorFact) -> i32 {
    DataType::from_number(fact.data_type)
        .map_or_else(|| pb::DataType::TypeInvalid.into(), DataType::config_number)
}

/// The dims of a tensor. One without any is told as `[1]`, and given to the model as a scalar where it is batched.
fn dims(fact: &TensorFact, batched: bool) -> (Vec<i64>, Option<ModelTensorReshape>) {
    let dims: Vec<i64> = fact.shape.iter().copied().skip(usize::from(batched)).collect();
    if dims.is_empty() { (vec![1], batched.then(ModelTensorReshape::default)) } else { (dims, None) }
}

fn from_proposal(raw: &mut RawConfig, proposed: &RawConfig) -> Result<(), ServeError> {
    match (&raw.scheduling_choice, &proposed.scheduling_choice) {
        (None, choice) => raw.scheduling_choice.clone_from(choice),
        (Some(current), Some(other)) if number(current) != number(other) => {
            return Err(ServeError::internal(format!(
                "Cannot update scheduling choice from {} to {} when auto-completing.",
                number(current),
                number(other)
            )));
        }
        _ => {}
    }
    raw.max_batch_size = proposed.max_batch_size;
    raw.input.clone_from(&proposed.input);
    raw.output.clone_from(&proposed.output);
    if let Some(policy) = &proposed.model_transaction_policy {
        raw.model_transaction_policy.get_or_insert_default().decoupled = policy.decoupled;
    }
    Ok(())
}

/// The field number of a scheduling choice.
const fn number(choice: &SchedulingChoice) -> u32 {
    match choice {
        SchedulingChoice::DynamicBatching(_) => 11,
        SchedulingChoice::SequenceBatching(_) => 13,
        SchedulingChoice::EnsembleScheduling(_) => 15,
    }
}

#[cfg(test)]
mod tests;
