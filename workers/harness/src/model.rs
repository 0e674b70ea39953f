//! What a backend is told about the one model instance that it holds.

use crate::{
    log::Logger,
    watch::{Pause, Watch},
};
use nereid_proto::{
    inference::{ModelConfig, model_instance_group::Kind},
    worker::Model,
};
use std::{collections::BTreeMap, path::Path, time::Duration};

/// The model, its configuration and its place on disk, with a log and a way to wait.
#[derive(Debug)]
pub struct ModelContext {
    model: Model,
    config: ModelConfig,
    logger: Logger,
    watch: Watch,
}

impl ModelContext {
    pub(crate) fn new(mut model: Model, logger: Logger, watch: Watch) -> Self {
        let config = model.config.take().unwrap_or_default();
        Self { model, config, logger, watch }
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.model.name
    }

    /// The version's number.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.model.version
    }

    /// The model's directory, absolute.
    #[must_use]
    pub fn directory(&self) -> &Path {
        Path::new(&self.model.directory)
    }

    /// The directory of this version, absolute.
    #[must_use]
    pub fn version_directory(&self) -> &Path {
        Path::new(&self.model.version_directory)
    }

    /// The instance's name, such as `densenet_0_1`.
    #[must_use]
    pub fn instance_name(&self) -> &str {
        &self.model.instance_name
    }

    /// What the instance runs on. `KIND_AUTO` has been decided by the supervisor.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.model.kind()
    }

    /// The GPU's number for instances on one; 0 for others.
    #[must_use]
    pub fn device_id(&self) -> i32 {
        self.model.device_id
    }

    /// The configuration, complete and valid when [`load`](crate::Backend::load) is called.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The same as the config endpoint prints it.
    #[must_use]
    pub fn config_json(&self) -> &str {
        &self.model.config_json
    }

    /// The `--backend-config` settings for this backend.
    #[must_use]
    pub fn backend_config(&self) -> &BTreeMap<String, String> {
        &self.model.backend_config
    }

    /// One of the configuration's parameters.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.config.parameters.get(name).map(|parameter| parameter.string_value.as_str())
    }

    /// Whether the first dimension of every tensor is the batch.
    #[must_use]
    pub fn is_batched(&self) -> bool {
        self.config.max_batch_size > 0
    }

    /// The worker's log; may be cloned and sent to other threads.
    #[must_use]
    pub fn logger(&self) -> &Logger {
        &self.logger
    }

    /// Waits, or until the supervisor has gone: then return at once, since the worker is about to exit.
    #[must_use]
    pub fn pause(&self, duration: Duration) -> Pause {
        self.watch.pause(duration)
    }
}
