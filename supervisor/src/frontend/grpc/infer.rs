//! Unary inference, and what it shares with streams.

use nereid_core::error::ServeError;
use nereid_proto::inference::{ModelInferRequest, ModelInferResponse};
use tonic::metadata::{KeyAndValueRef, MetadataMap};
use tonic::{Request, Status};

use super::GrpcFrontend;
use super::convert;
use crate::frontend::{Upstream, status, version};
use crate::serve::request::InferRequest;

/// The words for an inference that comes after the last one.
pub(super) const STOPPING: &str = "GRPC server is shutting down and has stopped accepting new requests.";

impl<U: Upstream> GrpcFrontend<U> {
    pub(super) async fn infer(
        &self,
        request: Request<ModelInferRequest>,
    ) -> Result<ModelInferResponse, Status> {
        let (metadata, _, message) = request.into_parts();
        let request = self
            .prepare(
                &metadata,
                message,
                "ModelInfer RPC doesn't support models with decoupled transaction policy",
            )
            .map_err(status::grpc)?;
        let response = self.upstream.infer(request).await.map_err(status::grpc)?;
        convert::response(response).map_err(status::grpc)
    }

    /// Everything before the inference itself. `decoupled` is the answer for a decoupled model.
    pub(super) fn prepare(
        &self,
        metadata: &MetadataMap,
        message: ModelInferRequest,
        decoupled: &str,
    ) -> Result<InferRequest, ServeError> {
        if self.is_stopping() {
            return Err(ServeError::unavailable(STOPPING));
        }
        let version = version::parse(&message.model_version)?;
        if self.upstream.model(&message.model_name, version)?.is_decoupled() {
            return Err(ServeError::unsupported(decoupled));
        }
        let mut request = convert::request(message, version)?.request;
        if let Some(pattern) = &self.settings.forward {
            let ascii = metadata.iter().filter_map(|entry| match entry {
                KeyAndValueRef::Ascii(key, value) => Some((key.as_str(), value.as_bytes())),
                KeyAndValueRef::Binary(..) => None,
            });
            pattern.forward(ascii, &mut request.parameters)?;
        }
        Ok(request)
    }
}
