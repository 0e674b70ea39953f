//! The server as a frontend sees it: few methods, so that the protocols can be tested without one.

use std::future::Future;
use std::sync::Arc;

use nereid_core::error::ServeError;
use nereid_proto::inference::{ModelMetadataResponse, ModelStatistics};

use crate::serve::admission::InflightBytes;
use crate::serve::request::{InferRequest, InferResponse};
use crate::serve::{ModelView, ServerMetadata, Serving};

/// What frontends ask of the server behind them. The errors carry the texts that clients see.
pub trait Upstream: Send + Sync + 'static {
    /// What the server says of itself.
    fn metadata(&self) -> &ServerMetadata;
    /// False only while the server is going down.
    fn is_live(&self) -> bool;
    /// Ready by the server's policy.
    fn is_ready(&self) -> bool;
    /// Whether an instance can take a request now.
    fn model_ready(&self, model: &str, version: Option<i64>) -> Result<bool, ServeError>;
    /// A ready version.
    fn model(&self, model: &str, version: Option<i64>) -> Result<Arc<dyn ModelView>, ServeError>;
    /// Name, versions, platform, inputs and outputs.
    fn model_metadata(&self, model: &str, version: Option<i64>) -> Result<ModelMetadataResponse, ServeError>;
    /// Statistics of one model or, with `None`, of all ready ones.
    fn statistics(
        &self,
        model: Option<&str>,
        version: Option<i64>,
    ) -> Result<Vec<ModelStatistics>, ServeError>;
    /// Room for that many bytes of a request that is still arriving, or a refusal.
    fn reserve(&self, bytes: u64) -> Result<InflightBytes, ServeError>;
    /// Runs one inference. Dropping the future cancels it.
    fn infer(&self, request: InferRequest) -> impl Future<Output = Result<InferResponse, ServeError>> + Send;
}

impl Upstream for Serving {
    fn metadata(&self) -> &ServerMetadata {
        Self::metadata(self)
    }

    fn is_live(&self) -> bool {
        Self::is_live(self)
    }

    fn is_ready(&self) -> bool {
        Self::is_ready(self)
    }

    fn model_ready(&self, model: &str, version: Option<i64>) -> Result<bool, ServeError> {
        Self::model_ready(self, model, version)
    }

    fn model(&self, model: &str, version: Option<i64>) -> Result<Arc<dyn ModelView>, ServeError> {
        Self::model(self, model, version)
    }

    fn model_metadata(&self, model: &str, version: Option<i64>) -> Result<ModelMetadataResponse, ServeError> {
        Self::model_metadata(self, model, version)
    }

    fn statistics(
        &self,
        model: Option<&str>,
        version: Option<i64>,
    ) -> Result<Vec<ModelStatistics>, ServeError> {
        Self::statistics(self, model, version)
    }

    fn reserve(&self, bytes: u64) -> Result<InflightBytes, ServeError> {
        Self::reserve(self, bytes)
    }

    fn infer(&self, request: InferRequest) -> impl Future<Output = Result<InferResponse, ServeError>> + Send {
        Self::infer(self, request)
    }
}
