//! What the unary call and streams share, and the unary call as the gRPC library sees it. The library's is used only
//! where responses are packed: see [`super::unary`].

use nereid_core::error::ServeError;
use nereid_proto::inference::{ModelInferRequest, ModelInferResponse};
use tonic::metadata::{KeyAndValueRef, MetadataMap};
use tonic::{Request, Status};

use super::{GrpcFrontend, convert, message};
use crate::frontend::work::{self, LONG_WORK};
use crate::frontend::{Upstream, bounds, status, version};
use crate::serve::request::InferRequest;

/// The words for an inference that comes after the last one.
pub(super) const STOPPING: &str = "GRPC server is shutting down and has stopped accepting new requests.";
/// The words for a unary call of a decoupled model.
const DECOUPLED: &str = "ModelInfer RPC doesn't support models with decoupled transaction policy";

impl<U: Upstream> GrpcFrontend<U> {
    pub(super) async fn infer(
        &self,
        request: Request<ModelInferRequest>,
    ) -> Result<ModelInferResponse, Status> {
        let (metadata, _, message) = request.into_parts();
        self.infer_one(entries(&metadata), message.into()).await
    }

    /// Runs a unary inference.
    pub(super) async fn infer_one<'h>(
        &self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])> + Send,
        message: message::Request,
    ) -> Result<ModelInferResponse, Status> {
        let request = self.prepare(headers, message, DECOUPLED).await.map_err(status::grpc)?;
        let response = self.upstream.infer(request).await.map_err(status::grpc)?;
        convert::response(response).map_err(status::grpc)
    }

    /// Everything before the inference itself. `decoupled` is the answer for a decoupled model.
    pub(super) async fn prepare<'h>(
        &self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])> + Send,
        message: message::Request,
        decoupled: &str,
    ) -> Result<InferRequest, ServeError> {
        if self.is_stopping() {
            return Err(ServeError::unavailable(STOPPING));
        }
        let version = version::parse(&message.message.model_version)?;
        if self.upstream.model(&message.message.model_name, version)?.is_decoupled() {
            return Err(ServeError::unsupported(decoupled));
        }
        let size = convert::work_size(&message, LONG_WORK);
        let mut request = work::run(size, move || convert::request(message, version)).await?;
        if let Some(pattern) = &self.settings.forward {
            pattern.forward(headers, &mut request.parameters)?;
        }
        bounds::check(&request)?;
        Ok(request)
    }
}

/// The text of one entry of a call's metadata.
pub(super) fn entry<'a>(metadata: &'a MetadataMap, name: &str) -> Option<&'a [u8]> {
    metadata.get(name).map(|value| value.as_bytes())
}

/// The entries of a call's metadata that are text.
pub(super) fn entries(metadata: &MetadataMap) -> impl Iterator<Item = (&str, &[u8])> {
    metadata.iter().filter_map(|entry| match entry {
        KeyAndValueRef::Ascii(key, value) => Some((key.as_str(), value.as_bytes())),
        KeyAndValueRef::Binary(..) => None,
    })
}
