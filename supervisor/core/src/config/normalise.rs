//! Writes out what a configuration leaves to the defaults, so that what is shown is what is done.

use super::autofill::{ONNXRUNTIME, TENSORFLOW};
use super::{RawConfig, ServerFacts};
use nereid_proto::inference::{
    self as pb, model_config::SchedulingChoice, model_instance_group::Kind,
    model_sequence_batching::StrategyChoice, model_version_policy::PolicyChoice,
};

/// How long a sequence may be idle when its configuration does not say.
pub const SEQUENCE_IDLE_DEFAULT_US: u64 = 1_000_000;
/// Instances on a CPU for the backends that gain from more than one.
const CPU_INSTANCES_DEFAULT: i32 = 2;

/// Fills in all defaults but those of the instance groups.
pub fn normalise(raw: &mut RawConfig) {
    let policy = raw.version_policy.get_or_insert_default();
    policy
        .policy_choice
        .get_or_insert(PolicyChoice::Latest(pb::model_version_policy::Latest { num_versions: 1 }));

    let max_batch_size = raw.max_batch_size;
    let fill_preferred = |sizes: &mut Vec<i32>| {
        if sizes.is_empty() && max_batch_size > 0 {
            sizes.push(max_batch_size);
        }
    };
    match &mut raw.scheduling_choice {
        Some(SchedulingChoice::DynamicBatching(dynamic)) => fill_preferred(&mut dynamic.preferred_batch_size),
        Some(SchedulingChoice::SequenceBatching(sequence)) => {
            if sequence.max_sequence_idle_microseconds == 0 {
                sequence.max_sequence_idle_microseconds = SEQUENCE_IDLE_DEFAULT_US;
            }
            if let Some(StrategyChoice::Oldest(oldest)) = &mut sequence.strategy_choice {
                fill_preferred(&mut oldest.preferred_batch_size);
            }
        }
        // An ensemble has neither tensors of its own nor instances.
        Some(SchedulingChoice::EnsembleScheduling(_)) => return,
        None => {}
    }
    let pinned = pb::model_optimization_policy::PinnedMemoryBuffer { enable: true };
    let optimization = raw.optimization.get_or_insert_default();
    optimization.input_pinned_memory.get_or_insert(pinned);
    optimization.output_pinned_memory.get_or_insert(pinned);
}

/// Fills in the instance groups: names, kinds, counts and devices. `preferred` are the groups that the model's backend
/// would rather have, best first.
pub fn normalise_instance_groups(
    raw: &mut RawConfig,
    facts: &ServerFacts,
    preferred: &[pb::ModelInstanceGroup],
) {
    if matches!(raw.scheduling_choice, Some(SchedulingChoice::EnsembleScheduling(_))) {
        return;
    }
    if raw.instance_group.is_empty() {
        raw.instance_group.push(default_group(&raw.name, facts, preferred));
    }
    for (index, group) in raw.instance_group.iter_mut().enumerate() {
        if group.name.is_empty() {
            group.name = format!("{}_{index}", raw.name);
        }
        if group.kind() == Kind::Auto {
            let usable = !facts.gpus.is_empty() && group.gpus.iter().all(|gpu| facts.gpus.contains(gpu));
            group.set_kind(if usable { Kind::Gpu } else { Kind::Cpu });
        }
        apply_preferred(group, facts, preferred);
        if group.count < 1 {
            let several = matches!(raw.backend.as_str(), TENSORFLOW | ONNXRUNTIME);
            group.count = if group.kind() == Kind::Cpu && several { CPU_INSTANCES_DEFAULT } else { 1 };
        }
        if group.kind() == Kind::Gpu && group.gpus.is_empty() {
            group.gpus.clone_from(&facts.gpus);
        }
    }
}

/// The group of a model that names none.
fn default_group(
    model_name: &str,
    facts: &ServerFacts,
    preferred: &[pb::ModelInstanceGroup],
) -> pb::ModelInstanceGroup {
    let mut group = pb::ModelInstanceGroup { name: model_name.to_owned(), ..Default::default() };
    let usable = preferred.iter().find(|one| one.kind() != Kind::Gpu || !facts.gpus.is_empty());
    if let Some(one) = usable {
        group.kind = one.kind;
        group.count = one.count;
        group.gpus = match one.kind() {
            Kind::Gpu => one.gpus.iter().copied().filter(|gpu| facts.gpus.contains(gpu)).collect(),
            Kind::Auto => one.gpus.clone(),
            Kind::Cpu | Kind::Model => Vec::new(),
        };
    }
    group
}

/// Takes count and devices from the preferred groups of the same kind, where the group leaves them open.
fn apply_preferred(
    group: &mut pb::ModelInstanceGroup,
    facts: &ServerFacts,
    preferred: &[pb::ModelInstanceGroup],
) {
    for one in preferred.iter().filter(|one| one.kind == group.kind) {
        if group.kind() == Kind::Gpu && group.gpus.is_empty() && !one.gpus.is_empty() {
            group.gpus.extend(one.gpus.iter().filter(|gpu| facts.gpus.contains(gpu)));
            if group.gpus.is_empty() {
                continue;
            }
        }
        if group.count < 1 && one.count > 0 {
            group.count = one.count;
        }
    }
}

#[cfg(test)]
mod tests;
