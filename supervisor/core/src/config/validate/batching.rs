//! The rules of dynamic batching: preferred sizes, priorities, order.

use super::Findings;
use crate::config::RawConfig;
use nereid_proto::inference::{ModelDynamicBatching, ModelQueuePolicy, model_queue_policy::TimeoutAction};

pub(super) fn check(raw: &RawConfig, dynamic: &ModelDynamicBatching, findings: &mut Findings) {
    let name = &raw.name;
    for &size in &dynamic.preferred_batch_size {
        findings
            .invalid_if(size <= 0, || format!("dynamic batching preferred size must be positive for {name}"));
        findings.invalid_if(size > raw.max_batch_size, || {
            format!("dynamic batching preferred size must be <= max batch size for {name}")
        });
    }
    let levels = dynamic.priority_levels;
    if levels != 0 {
        let exists = |level: u64| (1..=levels).contains(&level);
        findings.invalid_if(!exists(dynamic.default_priority_level), || {
            format!("default priority level must be in range [1, {levels}] for {name}")
        });
        for &level in dynamic.priority_queue_policy.keys() {
            findings.invalid_if(!exists(level), || {
                format!("priority queue policy must have priority level in range [1, {levels}] for {name}")
            });
        }
    }
    if dynamic.preserve_ordering {
        findings.invalid_if(levels > 1, || {
            format!("Only one priority level is allowed when 'preserve_ordering' is true for {name}")
        });
        // A delayed request would be answered out of order.
        let policies = dynamic.default_queue_policy.iter().chain(dynamic.priority_queue_policy.values());
        for _ in policies.filter(|policy| delays(policy)) {
            findings.invalid(format!(
                "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for {name}"
            ));
        }
    }
}

fn delays(policy: &ModelQueuePolicy) -> bool {
    policy.default_timeout_microseconds != 0 && policy.timeout_action() == TimeoutAction::Delay
}
