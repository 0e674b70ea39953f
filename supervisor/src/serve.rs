//! From admitted request to reply: who owns what.
//!
//! [`Serving`] is all that a frontend knows of the server behind it. A request travels through [`registry`] (name →
//! version), [`version`] (checked, turned into a ticket), [`model`] (the one task that owns the version's scheduler),
//! [`dispatch`] (to a worker) and [`reply`] (back, each ticket ended exactly once).

pub mod admission;
mod alarm;
pub mod dispatch;
pub mod model;
pub mod outputs;
pub mod registry;
pub mod reply;
pub mod request;
pub mod tensor_data;
pub mod tickets;
pub mod version;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nereid_core::config::ModelConfig;
use nereid_core::error::ServeError;
use nereid_proto::inference::{ModelMetadataResponse, ModelStatistics};

use admission::{Admission, InflightBytes};
use registry::Registry;
use request::{InferRequest, InferResponse};

/// The extensions of the protocol that the server speaks, in Triton's order.
const EXTENSIONS: &[&str] =
    &["schedule_policy", "model_configuration", "binary_tensor_data", "parameters", "statistics"];

/// What the server says of itself.
#[derive(Clone, Debug)]
pub struct ServerMetadata {
    /// `--id`.
    pub name: String,
    pub version: String,
    pub extensions: Vec<String>,
}

/// Where the server is in its life.
#[derive(Debug, Default)]
pub struct Phase {
    /// The models of the start are loaded, or have failed.
    started: AtomicBool,
    stopping: AtomicBool,
}

/// The facade that frontends call.
#[derive(Debug)]
pub struct Serving {
    metadata: ServerMetadata,
    registry: Arc<Registry>,
    admission: Arc<Admission>,
    phase: Phase,
    strict_readiness: bool,
}

impl Serving {
    /// A server named `id` that takes on `inflight_bytes_max` bytes of requests at once.
    #[must_use]
    pub fn new(id: String, registry: Arc<Registry>, inflight_bytes_max: u64, strict_readiness: bool) -> Self {
        Self {
            metadata: ServerMetadata {
                name: id,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                extensions: EXTENSIONS.iter().map(|&name| name.to_owned()).collect(),
            },
            registry,
            admission: Admission::new(inflight_bytes_max),
            phase: Phase::default(),
            strict_readiness,
        }
    }

    #[must_use]
    pub fn metadata(&self) -> &ServerMetadata {
        &self.metadata
    }

    /// The startup models are loaded, or have failed.
    pub fn set_started(&self) {
        self.phase.started.store(true, Ordering::Release);
    }

    /// The server is going down.
    pub fn set_stopping(&self) {
        self.phase.stopping.store(true, Ordering::Release);
    }

    /// The process serves: false only while it is going down.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.phase.stopping.load(Ordering::Acquire)
    }

    /// Ready in Triton's sense: everything that was to be loaded is, and, with `--strict-readiness`, can take a
    /// request now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_live()
            && self.phase.started.load(Ordering::Acquire)
            && (!self.strict_readiness || self.registry.all_ready())
    }

    /// `Ok(true)`: an instance can take a request now. Errors as for every lookup of a model.
    pub fn model_ready(&self, model: &str, version: Option<i64>) -> Result<bool, ServeError> {
        self.registry.get(model, version).map(|version| version.is_ready())
    }

    /// A ready version; the errors carry Triton's texts ("Request for unknown model: …").
    pub fn model(&self, model: &str, version: Option<i64>) -> Result<Arc<dyn ModelView>, ServeError> {
        self.registry.get(model, version).map(|version| version as Arc<dyn ModelView>)
    }

    /// Name, versions, platform, inputs and outputs: of the version asked for, or of the highest with the numbers of
    /// all that are ready.
    pub fn model_metadata(
        &self,
        model: &str,
        version: Option<i64>,
    ) -> Result<ModelMetadataResponse, ServeError> {
        let mut metadata = self.registry.get(model, version)?.metadata();
        if version.is_none() {
            metadata.versions = self.registry.ready_versions(model).iter().map(ToString::to_string).collect();
        }
        Ok(metadata)
    }

    /// Statistics of one model or, with `None`, of all ready ones.
    pub fn statistics(
        &self,
        model: Option<&str>,
        version: Option<i64>,
    ) -> Result<Vec<ModelStatistics>, ServeError> {
        let Some(name) = model else {
            return Ok(self.registry.ready().iter().map(|shared| shared.statistics()).collect());
        };
        let numbers = self.registry.ready_versions(name);
        if numbers.is_empty() {
            return Err(ServeError::invalid(format!("requested model '{name}' is not available")));
        }
        let wanted: Vec<i64> = match version {
            Some(number) if numbers.contains(&number) => vec![number],
            Some(_) => {
                return Err(ServeError::invalid(format!(
                    "requested model version is not available for model '{name}'"
                )));
            }
            None => numbers,
        };
        wanted.into_iter().map(|number| Ok(self.registry.get(name, Some(number))?.statistics())).collect()
    }

    /// Room for that many bytes of a request that is still arriving, or a refusal.
    pub fn reserve(&self, bytes: u64) -> Result<InflightBytes, ServeError> {
        self.admission.admit(bytes)
    }

    /// Runs one inference. Dropping the future cancels the request.
    pub async fn infer(&self, mut request: InferRequest) -> Result<InferResponse, ServeError> {
        let version = self.registry.get(&request.model, request.version)?;
        let share = match request.reserved.take() {
            Some(share) => share,
            None => self.admission.admit(request.inputs.iter().map(|input| input.data.len() as u64).sum())?,
        };
        version.infer(request, share).await
    }
}

/// What a frontend may ask a ready model version.
pub trait ModelView: Send + Sync + std::fmt::Debug {
    /// The complete configuration.
    fn config(&self) -> &ModelConfig;
    /// The configuration as the config endpoint prints it.
    fn config_json(&self) -> &str;
    /// Name, this version, platform, inputs and outputs. [`Serving::model_metadata`] knows the other versions.
    fn metadata(&self) -> ModelMetadataResponse;
    /// Responses may be none or many: unary protocols refuse such a model.
    fn is_decoupled(&self) -> bool;
}
