//! Server metadata, model metadata, model configuration, statistics.

use nereid_proto::inference::{
    ModelConfigRequest, ModelConfigResponse, ModelMetadataRequest, ModelMetadataResponse,
    ModelStatisticsRequest, ModelStatisticsResponse, ServerMetadataResponse,
};
use tonic::Status;

use super::GrpcFrontend;
use crate::frontend::{Upstream, status, version};

impl<U: Upstream> GrpcFrontend<U> {
    pub(super) fn metadata(&self) -> ServerMetadataResponse {
        let metadata = self.upstream.metadata();
        ServerMetadataResponse {
            name: metadata.name.clone(),
            version: metadata.version.clone(),
            extensions: metadata.extensions.clone(),
        }
    }

    pub(super) fn metadata_of(
        &self,
        request: &ModelMetadataRequest,
    ) -> Result<ModelMetadataResponse, Status> {
        let version = version::parse(&request.version).map_err(status::grpc)?;
        self.upstream.model_metadata(&request.name, version).map_err(status::grpc)
    }

    pub(super) fn config_of(&self, request: &ModelConfigRequest) -> Result<ModelConfigResponse, Status> {
        let version = version::parse(&request.version).map_err(status::grpc)?;
        let model = self.upstream.model(&request.name, version).map_err(status::grpc)?;
        Ok(ModelConfigResponse { config: Some(model.config().raw().clone()) })
    }

    pub(super) fn statistics_of(
        &self,
        request: &ModelStatisticsRequest,
    ) -> Result<ModelStatisticsResponse, Status> {
        let version = version::parse(&request.version).map_err(status::grpc)?;
        let name = (!request.name.is_empty()).then_some(request.name.as_str());
        let model_stats = self.upstream.statistics(name, version).map_err(status::grpc)?;
        Ok(ModelStatisticsResponse { model_stats })
    }
}
