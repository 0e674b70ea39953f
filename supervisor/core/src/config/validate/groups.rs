//! The rules of instance groups: kinds, devices, profiles.

use super::Findings;
use crate::config::autofill::TENSORRT_PLATFORM;
use crate::config::instances::MAX_INSTANCES;
use crate::config::{RawConfig, ServerFacts};
use crate::error::ServeError;
use nereid_proto::inference::{
    ModelInstanceGroup, model_config::SchedulingChoice, model_instance_group::Kind,
};

pub(super) fn check(raw: &RawConfig, facts: &ServerFacts, findings: &mut Findings) {
    if matches!(raw.scheduling_choice, Some(SchedulingChoice::EnsembleScheduling(_))) {
        return;
    }
    let name = &raw.name;
    findings.invalid_if(raw.instance_group.is_empty(), || {
        format!("must specify one or more 'instance group's for {name}")
    });
    for group in &raw.instance_group {
        let this = format!("instance group {} of model {name}", group.name);
        check_kind(&this, group, facts, findings);
        check_profiles(&this, raw, group, findings);
    }
    let wanted: u64 = raw.instance_group.iter().map(instances).sum();
    let limit = u64::try_from(MAX_INSTANCES).unwrap_or(u64::MAX);
    findings.invalid_if(wanted > limit, || {
        format!("the instance groups of model {name} ask for {wanted} instances; the limit is {limit}")
    });
}

fn instances(group: &ModelInstanceGroup) -> u64 {
    let devices = if group.kind() == Kind::Gpu { group.gpus.len() } else { 1 };
    u64::try_from(group.count).unwrap_or_default().saturating_mul(devices.try_into().unwrap_or(u64::MAX))
}

fn check_kind(this: &str, group: &ModelInstanceGroup, facts: &ServerFacts, findings: &mut Findings) {
    let gpus = !group.gpus.is_empty();
    match group.kind() {
        Kind::Model => {
            findings
                .invalid_if(gpus, || format!("{this} has kind KIND_MODEL but specifies one or more GPUs"));
        }
        Kind::Cpu => {
            findings.invalid_if(gpus, || format!("{this} has kind KIND_CPU but specifies one or more GPUs"))
        }
        Kind::Gpu if !facts.supports_gpus => {
            findings.invalid(format!("{this} has kind KIND_GPU but server does not support GPUs"));
        }
        Kind::Gpu => {
            findings.invalid_if(!gpus && facts.gpus.is_empty(), || {
                format!("{this} has kind KIND_GPU but no GPUs are available")
            });
            findings.invalid_if(!gpus && !facts.gpus.is_empty(), || {
                format!("{this} has kind KIND_GPU but specifies no GPUs")
            });
            for gpu in group.gpus.iter().filter(|gpu| !facts.gpus.contains(gpu)) {
                let usable: Vec<String> = facts.gpus.iter().map(i32::to_string).collect();
                findings.invalid(format!(
                    "{this} specifies invalid or unsupported gpu id {gpu}. GPUs with at least the minimum required \
                     CUDA compute compatibility of {:.6} are: {}",
                    facts.min_compute_capability,
                    usable.join(", ")
                ));
            }
        }
        Kind::Auto => {
            findings.errors.push(ServeError::internal(format!("{this} has unexpected kind KIND_AUTO")))
        }
    }
}

fn check_profiles(this: &str, raw: &RawConfig, group: &ModelInstanceGroup, findings: &mut Findings) {
    let platform = &raw.platform;
    if platform != TENSORRT_PLATFORM {
        // The missing space is Triton's.
        findings.invalid_if(!group.profile.is_empty(), || {
            format!("{this} and platform {platform}specifies profile field which is only supported for TensorRT models")
        });
        return;
    }
    for profile in group.profile.iter().filter(|profile| profile.parse::<u32>().is_err()) {
        findings.invalid(format!(
            "{this} and platform {platform} specifies invalid profile {profile}. The field should contain the string \
             representation of a non-negative integer."
        ));
    }
}
