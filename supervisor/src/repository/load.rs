//! Loads the models of a repository: each by itself, several at once, so that a broken or slow one never stops the
//! others.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nereid_core::config::autofill::autofill;
use nereid_core::config::normalise::{normalise, normalise_instance_groups};
use nereid_core::config::validate::{validate, validate_all, validate_before_completion};
use nereid_core::config::{RawConfig, VersionPolicy};
use nereid_core::error::ServeError;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::scan::{self, Found};
use crate::fleet::version::{self, Environment, Handle, Request};
use crate::serve::registry::VersionState;

/// What to load, and how.
#[derive(Clone, Debug)]
pub struct Repositories {
    pub paths: Vec<PathBuf>,
    /// `--model-config-name`.
    pub config_name: String,
    /// `--model-load-thread-count`: models that are loaded at once.
    pub parallel_loads: usize,
    /// `--load-model`: only these. `None`: all.
    pub only: Option<Vec<String>>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The versions that are served.
    pub running: Vec<Handle>,
    /// Models of which something could not be loaded.
    pub failed: Vec<String>,
}

/// Loads the models of the repositories. An error means that a repository itself cannot be read.
pub async fn all(environment: &Arc<Environment>, repositories: &Repositories) -> Result<Loaded, ServeError> {
    let paths = repositories.paths.clone();
    let mut models = blocking(move || scan::models(&paths)).await?;
    let mut loaded = Loaded::default();
    if let Some(only) = &repositories.only {
        for name in only.iter().filter(|name| !models.contains_key(*name)) {
            environment.registry.set_failed(name, "failed to poll from model repository".to_owned());
            loaded.failed.push(name.clone());
        }
        models.retain(|name, _| only.contains(name));
    }
    let permits = Arc::new(Semaphore::new(repositories.parallel_loads.max(1)));
    let mut loads = JoinSet::new();
    for (name, mut directories) in models {
        let Some(directory) = directories.pop() else { continue };
        if !directories.is_empty() {
            tracing::error!("failed to poll model '{name}': not unique across all model repositories");
            environment.registry.set_failed(&name, "model appears in two or more repositories".to_owned());
            loaded.failed.push(name);
            continue;
        }
        let (environment, permits) = (Arc::clone(environment), Arc::clone(&permits));
        let config_name = repositories.config_name.clone();
        loads.spawn(async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await;
            let running = model(&environment, &name, &directory, config_name).await;
            (name, running)
        });
    }
    while let Some(joined) = loads.join_next().await {
        let Ok((name, (running, complete))) = joined else { continue };
        loaded.running.extend(running);
        if !complete {
            loaded.failed.push(name);
        }
    }
    Ok(loaded)
}

/// Loads one model's versions. Gives those that run, and whether all of them do.
async fn model(
    environment: &Arc<Environment>,
    name: &str,
    directory: &Path,
    config_name: String,
) -> (Vec<Handle>, bool) {
    let (model_name, path) = (name.to_owned(), directory.to_owned());
    let prepared = blocking(move || scan::model(&model_name, &path, &config_name))
        .await
        .and_then(|found| prepare(environment, found));
    let requests = match prepared {
        Ok(requests) => requests,
        Err(error) => {
            tracing::error!("failed to load '{name}': {}", error.as_status());
            environment.registry.set_failed(name, error.as_status().to_string());
            return (Vec::new(), false);
        }
    };
    let (mut running, mut waiting, mut complete) = (Vec::new(), Vec::new(), true);
    for request in requests {
        let version = request.version;
        environment.registry.set(name, version, VersionState::Loading);
        tracing::info!("loading: {name}:{version}");
        match version::load(Arc::clone(environment), request) {
            Ok(started) => waiting.push(started),
            Err(error) => {
                tracing::error!("failed to load '{name}' version {version}: {}", error.as_status());
                let state = VersionState::Unavailable(error.as_status().to_string());
                environment.registry.set(name, version, state);
                complete = false;
            }
        }
    }
    for (handle, outcome) in waiting {
        match outcome.await {
            Ok(Ok(())) => running.push(handle),
            _ => complete = false,
        }
    }
    (running, complete)
}

fn prepare(environment: &Environment, found: Found) -> Result<Vec<Request>, ServeError> {
    let Found { name, directory, mut config, versions, listing } = found;
    for warning in &versions.warnings {
        tracing::warn!(model = name, "{warning}");
    }
    autofill(&mut config, &name, listing.as_ref())?;
    if config.name != name {
        return Err(ServeError::invalid(format!(
            "unexpected directory name '{name}' for model '{}', directory name must equal model name",
            config.name
        )));
    }
    normalise(&mut config);
    normalise_instance_groups(&mut config, &environment.facts, &[]);
    if environment.auto_complete {
        validate_before_completion(&config, &environment.facts)
    } else {
        validate(&config, &environment.facts)
    }
    .inspect_err(|_| {
        for error in validate_all(&config, &environment.facts) {
            tracing::error!(model = name, "{error}");
        }
    })?;
    let selection = VersionPolicy::of(&config).select(&name, &versions.versions);
    for warning in &selection.warnings {
        tracing::warn!(model = name, "{warning}");
    }
    if selection.versions.is_empty() {
        return Err(ServeError::invalid(format!(
            "at least one version must be available under the version policy of model '{name}'"
        )));
    }
    Ok(selection.versions.into_iter().map(|version| request(&config, &directory, version)).collect())
}

fn request(config: &RawConfig, directory: &Path, version: i64) -> Request {
    Request {
        config: config.clone(),
        version,
        version_directory: scan::version_directory(directory, version),
        directory: directory.to_owned(),
    }
}

/// Runs what blocks on the pool for that.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ServeError> + Send + 'static,
) -> Result<T, ServeError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(ServeError::internal(format!("reading the repository failed: {error}"))))
}
