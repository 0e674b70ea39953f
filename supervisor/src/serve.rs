//! From admitted request to reply: who owns what.
//!
//! [`Serving`] is all that a frontend knows of the server behind it.

pub mod request;

use std::sync::Arc;

use nereid_core::error::ServeError;
use nereid_proto::inference::{ModelConfig, ModelMetadataResponse, ModelStatistics};

use request::{InferRequest, InferResponse};

/// What the server says of itself.
#[derive(Clone, Debug)]
pub struct ServerMetadata {
    /// `--id`.
    pub name: String,
    pub version: String,
    pub extensions: Vec<String>,
}

/// The facade that frontends call.
#[derive(Debug)]
pub struct Serving {
    metadata: ServerMetadata,
}

impl Serving {
    #[must_use]
    pub fn metadata(&self) -> &ServerMetadata {
        &self.metadata
    }

    /// The process serves: false only while it is going down.
    #[must_use]
    pub fn is_live(&self) -> bool {
        true
    }

    /// Ready by `--readiness-policy`.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        true
    }

    /// `Ok(true)`: an instance can take a request now. Errors as for every lookup of a model.
    pub fn model_ready(&self, model: &str, version: Option<i64>) -> Result<bool, ServeError> {
        self.model(model, version).map(|_| true)
    }

    /// A ready version; the errors carry Triton's texts ("Request for unknown model: …").
    pub fn model(&self, model: &str, _version: Option<i64>) -> Result<Arc<dyn ModelView>, ServeError> {
        Err(ServeError::not_found(format!("Request for unknown model: '{model}' is not found")))
    }

    /// Statistics of one model or, with `None`, of all ready ones.
    pub fn statistics(
        &self,
        _model: Option<&str>,
        _version: Option<i64>,
    ) -> Result<Vec<ModelStatistics>, ServeError> {
        Ok(Vec::new())
    }

    /// Runs one inference. Dropping the future cancels the request.
    pub async fn infer(&self, request: InferRequest) -> Result<InferResponse, ServeError> {
        Err(ServeError::not_found(format!("Request for unknown model: '{}' is not found", request.model)))
    }
}

/// What a frontend may ask a ready model version.
pub trait ModelView: Send + Sync + std::fmt::Debug {
    /// The complete configuration.
    fn config(&self) -> &ModelConfig;
    /// The configuration as the config endpoint prints it.
    fn config_json(&self) -> &str;
    /// Name, ready versions, platform, inputs and outputs; `version` narrows the list to the one asked for.
    fn metadata(&self) -> ModelMetadataResponse;
    /// Responses may be none or many: unary protocols refuse such a model.
    fn is_decoupled(&self) -> bool;
}
