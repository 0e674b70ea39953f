//! Loads the models of a repository: each by itself, several at once, so that a broken or slow one never stops the
//! others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nereid_core::config::autofill::autofill;
use nereid_core::config::normalise::{normalise, normalise_instance_groups};
use nereid_core::config::validate::{validate, validate_all, validate_before_completion};
use nereid_core::config::{RawConfig, VersionPolicy, labels};
use nereid_core::error::ServeError;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::running::Running;
use super::scan::{self, Found};
use crate::fleet::version::{self, Environment, Request};
use crate::serve::registry::VersionState;

/// What to load, and how.
#[derive(Clone, Debug)]
pub struct Repositories {
    pub paths: Vec<PathBuf>,
    /// `--model-config-name`.
    pub config_name: String,
    /// `--model-load-thread-count`: models that are loaded at once.
    pub parallel_loads: usize,
}

/// Loads the models of the repositories into `running`. Gives the names of those of which something could not be loaded;
/// an error means that a repository itself cannot be read.
///
/// Whoever drops the future early finds in `running` what was begun.
pub async fn all(
    environment: &Arc<Environment>,
    repositories: &Repositories,
    running: &Arc<Running>,
) -> Result<Vec<String>, ServeError> {
    let paths = repositories.paths.clone();
    let models = blocking(move || scan::models(&paths)).await?;
    let mut failed = Vec::new();
    let permits = Arc::new(Semaphore::new(repositories.parallel_loads.max(1)));
    let mut loads = JoinSet::new();
    let mut names = BTreeMap::new();
    for (name, mut directories) in models {
        let Some(directory) = directories.pop() else { continue };
        if !directories.is_empty() {
            tracing::error!("failed to poll model '{name}': not unique across all model repositories");
            environment.registry.set_failed(&name, "model appears in two or more repositories".to_owned());
            failed.push(name);
            continue;
        }
        let (environment, permits) = (Arc::clone(environment), Arc::clone(&permits));
        let (config_name, running) = (repositories.config_name.clone(), Arc::clone(running));
        let model_name = name.clone();
        let task = loads.spawn(async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await;
            model(&environment, &running, &model_name, &directory, config_name).await
        });
        names.insert(task.id(), name);
    }
    while let Some(joined) = loads.join_next_with_id().await {
        let (task, complete) = match joined {
            Ok(ended) => ended,
            Err(error) => (error.id(), false),
        };
        let Some(name) = names.remove(&task).filter(|_| !complete) else { continue };
        environment.registry.give_up_loading(&name, "the load ended unexpectedly, see the log");
        failed.push(name);
    }
    Ok(failed)
}

/// Loads one model's versions. Whether all of them run.
async fn model(
    environment: &Arc<Environment>,
    running: &Running,
    name: &str,
    directory: &Path,
    config_name: String,
) -> bool {
    let (model_name, path) = (name.to_owned(), directory.to_owned());
    let prepared = blocking(move || scan::model(&model_name, &path, &config_name))
        .await
        .and_then(|found| prepare(environment, found));
    let requests = match prepared {
        Ok(requests) => requests,
        Err(error) => {
            tracing::error!("failed to load '{name}': {}", error.as_status());
            environment.registry.set_failed(name, error.as_status().to_string());
            return false;
        }
    };
    let (mut waiting, mut complete) = (Vec::new(), true);
    for request in requests {
        let version = request.version;
        environment.registry.set(name, version, VersionState::Loading);
        tracing::info!("loading: {name}:{version}");
        match running.begin(name, version, || version::load(Arc::clone(environment), request)) {
            Ok(outcome) => waiting.push((version, outcome)),
            Err(error) => {
                tracing::error!("failed to load '{name}' version {version}: {}", error.as_status());
                let state = VersionState::Unavailable(error.as_status().to_string());
                environment.registry.set(name, version, state);
                complete = false;
            }
        }
    }
    for (version, outcome) in waiting {
        if !matches!(outcome.await, Ok(Ok(()))) {
            running.forget(name, version);
            complete = false;
        }
    }
    complete
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
    labels::check_paths(&config)?;
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
