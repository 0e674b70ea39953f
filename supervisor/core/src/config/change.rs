//! What a changed configuration means for a model that is being served with the old one.

use super::RawConfig;
use nereid_proto::inference::ModelInstanceGroup;

/// How much has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Nothing,
    /// Instances come and go, or other versions are served; those that stay are not loaded again.
    InPlace,
    /// Everything is loaded anew.
    Reload,
}

/// Compares two configurations of one model.
#[must_use]
pub fn between(old: &RawConfig, new: &RawConfig) -> Change {
    if old == new {
        return Change::Nothing;
    }
    let kept =
        |config: &RawConfig| RawConfig { instance_group: Vec::new(), version_policy: None, ..config.clone() };
    if kept(old) == kept(new) { Change::InPlace } else { Change::Reload }
}

/// Whether an instance of one group can go on as an instance of the other, on the same device: their names and counts
/// do not matter.
#[must_use]
pub fn same_instances(left: &ModelInstanceGroup, right: &ModelInstanceGroup) -> bool {
    let signature = |group: &ModelInstanceGroup| ModelInstanceGroup {
        name: String::new(),
        count: 0,
        gpus: Vec::new(),
        ..group.clone()
    };
    signature(left) == signature(right)
}

#[cfg(test)]
mod tests;
