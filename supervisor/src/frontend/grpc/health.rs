//! Live, ready, model ready, and the standard health service.

use nereid_proto::health::health_check_response::ServingStatus;
use nereid_proto::health::health_server::Health;
use nereid_proto::health::{HealthCheckRequest, HealthCheckResponse};
use nereid_proto::inference::{
    ModelReadyRequest, ModelReadyResponse, ServerLiveResponse, ServerReadyResponse,
};
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

use super::GrpcFrontend;
use super::infer::entry;
use crate::frontend::restrict::Category;
use crate::frontend::{Upstream, status, version};

/// The words for a server that is going down.
const EXITING: &str = "Server exiting";

impl<U: Upstream> GrpcFrontend<U> {
    fn check_exiting(&self) -> Result<(), Status> {
        if self.upstream.is_live() { Ok(()) } else { Err(Status::unavailable(EXITING)) }
    }

    pub(super) fn live(&self) -> Result<ServerLiveResponse, Status> {
        self.check_exiting()?;
        Ok(ServerLiveResponse { live: true })
    }

    pub(super) fn ready(&self) -> Result<ServerReadyResponse, Status> {
        self.check_exiting()?;
        Ok(ServerReadyResponse { ready: self.upstream.is_ready() })
    }

    pub(super) fn model_is_ready(&self, request: &ModelReadyRequest) -> Result<ModelReadyResponse, Status> {
        let version = version::parse(&request.version).map_err(status::grpc)?;
        let ready = self.upstream.model_ready(&request.name, version).map_err(status::grpc)?;
        Ok(ModelReadyResponse { ready })
    }
}

/// The standard health service. It speaks of the server as a whole, whatever service is asked for.
#[tonic::async_trait]
impl<U: Upstream> Health for GrpcFrontend<U> {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        self.check_restricted(Category::Health, |name| entry(request.metadata(), name))?;
        self.check_exiting()?;
        let status =
            if self.upstream.is_ready() { ServingStatus::Serving } else { ServingStatus::NotServing };
        Ok(Response::new(HealthCheckResponse { status: status.into() }))
    }

    type WatchStream = BoxStream<HealthCheckResponse>;

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("watching health is not supported; call Check again instead"))
    }
}
