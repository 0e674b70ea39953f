//! The instances that a model's groups ask for, one by one: what the fleet starts.

use super::RawConfig;
use nereid_proto::inference::{ModelInstanceGroup, model_instance_group::Kind};

/// The most instances of one model version.
pub const MAX_INSTANCES: usize = 4096;

/// Where an instance runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    Cpu,
    Gpu(i32),
    /// The model's code decides.
    Model,
}

/// One instance to be.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceSpec {
    /// The group's name and a number; instances of one group on several devices share names.
    pub name: String,
    /// The index of its group in the configuration.
    pub group: usize,
    pub group_name: String,
    pub placement: Placement,
    /// Loaded, but given no requests.
    pub passive: bool,
    pub profiles: Vec<String>,
    /// `cpu`, `gpu_<n>` or `model` unless the group names another.
    pub host_policy: String,
}

impl InstanceSpec {
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.placement {
            Placement::Cpu => Kind::Cpu,
            Placement::Gpu(_) => Kind::Gpu,
            Placement::Model => Kind::Model,
        }
    }

    #[must_use]
    pub fn device_id(&self) -> i32 {
        match self.placement {
            Placement::Gpu(device) => device,
            Placement::Cpu | Placement::Model => 0,
        }
    }
}

/// The instances of a configuration whose groups are normalised; at most [`MAX_INSTANCES`].
#[must_use]
pub fn instances(raw: &RawConfig) -> Vec<InstanceSpec> {
    let all = raw.instance_group.iter().enumerate().flat_map(|(index, group)| {
        let count = u32::try_from(group.count).unwrap_or_default();
        (0..count).flat_map(move |number| {
            placements(group).into_iter().map(move |placement| spec(group, index, number, placement))
        })
    });
    all.take(MAX_INSTANCES).collect()
}

fn placements(group: &ModelInstanceGroup) -> Vec<Placement> {
    match group.kind() {
        Kind::Cpu | Kind::Auto => vec![Placement::Cpu],
        Kind::Model => vec![Placement::Model],
        Kind::Gpu => group.gpus.iter().copied().map(Placement::Gpu).collect(),
    }
}

fn spec(group: &ModelInstanceGroup, index: usize, number: u32, placement: Placement) -> InstanceSpec {
    let host_policy = match placement {
        _ if !group.host_policy.is_empty() => group.host_policy.clone(),
        Placement::Cpu => "cpu".to_owned(),
        Placement::Gpu(device) => format!("gpu_{device}"),
        Placement::Model => "model".to_owned(),
    };
    InstanceSpec {
        name: format!("{}_{number}", group.name),
        group: index,
        group_name: group.name.clone(),
        placement,
        passive: group.passive,
        profiles: group.profile.clone(),
        host_policy,
    }
}

#[cfg(test)]
mod tests;
