//! Name and version → the version that serves it, or the reason why none does. Lookups are read locks held for a
//! map access; the texts are Triton's.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use nereid_core::error::ServeError;
use nereid_core::lifecycle::version::UNLOADED;

use super::version::VersionShared;

/// What stands behind a version number.
#[derive(Clone, Debug)]
pub enum VersionState {
    Loading,
    Ready(Arc<VersionShared>),
    /// It could not be loaded.
    Unavailable(String),
    /// It was unloaded on purpose: nothing is wrong.
    Unloaded,
}

/// One model's versions.
#[derive(Debug, Default)]
struct Model {
    versions: BTreeMap<i64, VersionState>,
    /// Why nothing of it could be loaded, not even a version's number.
    reason: Option<String>,
}

/// A line of the repository index.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    pub name: String,
    pub version: Option<i64>,
    pub state: Option<VersionState>,
    pub reason: String,
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct Registry {
    models: RwLock<BTreeMap<String, Model>>,
}

impl Registry {
    /// Sets the state of a version.
    pub fn set(&self, model: &str, version: i64, state: VersionState) {
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        let model = models.entry(model.to_owned()).or_default();
        model.versions.insert(version, state);
        model.reason = None;
    }

    /// A model that cannot be loaded at all, and why.
    pub fn set_failed(&self, model: &str, reason: String) {
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        models.entry(model.to_owned()).or_default().reason = Some(reason);
    }

    /// The load of a model has ended and says no more: what it left undecided is unavailable, and so is the model if there
    /// is nothing that tells why.
    pub fn give_up_loading(&self, model: &str, reason: &str) {
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        let model = models.entry(model.to_owned()).or_default();
        for state in model.versions.values_mut().filter(|state| matches!(state, VersionState::Loading)) {
            *state = VersionState::Unavailable(reason.to_owned());
        }
        if model.versions.is_empty() {
            model.reason.get_or_insert_with(|| reason.to_owned());
        }
    }

    /// The version that answers for a name: the one asked for, or the highest ready one.
    pub fn get(&self, name: &str, version: Option<i64>) -> Result<Arc<VersionShared>, ServeError> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        let Some(model) = models.get(name) else {
            return Err(ServeError::not_found(format!("Request for unknown model: '{name}' is not found")));
        };
        let Some(number) = version else {
            return model
                .versions
                .values()
                .rev()
                .find_map(|state| match state {
                    VersionState::Ready(shared) => Some(Arc::clone(shared)),
                    _ => None,
                })
                .ok_or_else(|| {
                    ServeError::not_found(format!(
                        "Request for unknown model: '{name}' has no available versions"
                    ))
                });
        };
        match model.versions.get(&number) {
            Some(VersionState::Ready(shared)) => Ok(Arc::clone(shared)),
            Some(_) => Err(ServeError::unavailable(format!(
                "Request for unknown model: '{name}' version {number} is not at ready state"
            ))),
            None => Err(ServeError::not_found(format!(
                "Request for unknown model: '{name}' version {number} is not found"
            ))),
        }
    }

    /// The ready versions of a model, ascending.
    #[must_use]
    pub fn ready_versions(&self, name: &str) -> Vec<i64> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        let Some(model) = models.get(name) else { return Vec::new() };
        let ready = |(number, state): (&i64, &VersionState)| {
            matches!(state, VersionState::Ready(_)).then_some(*number)
        };
        model.versions.iter().filter_map(ready).collect()
    }

    /// Every ready version of every model.
    #[must_use]
    pub fn ready(&self) -> Vec<Arc<VersionShared>> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        models
            .values()
            .flat_map(|model| model.versions.values())
            .filter_map(|state| match state {
                VersionState::Ready(shared) => Some(Arc::clone(shared)),
                _ => None,
            })
            .collect()
    }

    /// All that is known, by name and version.
    #[must_use]
    pub fn index(&self) -> Vec<IndexEntry> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        let mut entries = Vec::new();
        for (name, model) in models.iter() {
            if model.versions.is_empty() {
                entries.push(IndexEntry {
                    name: name.clone(),
                    version: None,
                    state: None,
                    reason: model.reason.clone().unwrap_or_default(),
                });
            }
            for (number, state) in &model.versions {
                entries.push(IndexEntry {
                    name: name.clone(),
                    version: Some(*number),
                    state: Some(state.clone()),
                    reason: match state {
                        VersionState::Unavailable(reason) => reason.clone(),
                        VersionState::Unloaded => UNLOADED.to_owned(),
                        _ => String::new(),
                    },
                });
            }
        }
        entries
    }

    /// Whether every known version is ready and has an instance that can take a request: Triton's strict readiness.
    /// One that was unloaded on purpose does not count.
    #[must_use]
    pub fn all_ready(&self) -> bool {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        models.values().all(|model| {
            model.reason.is_none()
                && model.versions.values().all(|state| match state {
                    VersionState::Ready(shared) => shared.is_ready(),
                    VersionState::Loading | VersionState::Unavailable(_) => false,
                    VersionState::Unloaded => true,
                })
        })
    }
}

#[cfg(test)]
mod tests;
