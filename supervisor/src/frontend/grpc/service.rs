//! The inference service, method by method. What a method does is in the file of its group.

use std::sync::Arc;

use nereid_proto::inference as api;
use nereid_proto::inference::grpc_inference_service_server::GrpcInferenceService;
use tonic::{Request, Response, Status, Streaming};

use super::GrpcFrontend;
use super::infer::entry;
use super::stream::Responses;
use crate::frontend::Upstream;
use crate::frontend::restrict::Category;

/// The service for one frontend.
pub(super) struct InferenceService<U: Upstream>(Arc<GrpcFrontend<U>>);

impl<U: Upstream> InferenceService<U> {
    pub(super) const fn new(frontend: Arc<GrpcFrontend<U>>) -> Self {
        Self(frontend)
    }

    /// The frontend, if the client may use this group of methods.
    fn open<T>(&self, category: Category, request: &Request<T>) -> Result<&Arc<GrpcFrontend<U>>, Status> {
        self.0.check_restricted(category, |name| entry(request.metadata(), name))?;
        Ok(&self.0)
    }

    /// The answer of a method that is not there yet.
    fn later<T>(&self, category: Category, request: &Request<T>, what: &str) -> Status {
        match self.open(category, request) {
            Ok(_) => Status::unimplemented(format!("{what} is not supported yet")),
            Err(status) => status,
        }
    }
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl<U: Upstream> GrpcInferenceService for InferenceService<U> {
    async fn server_live(&self, request: Request<api::ServerLiveRequest>) -> Answer<api::ServerLiveResponse> {
        self.open(Category::Health, &request)?.live().map(Response::new)
    }

    async fn server_ready(
        &self,
        request: Request<api::ServerReadyRequest>,
    ) -> Answer<api::ServerReadyResponse> {
        self.open(Category::Health, &request)?.ready().map(Response::new)
    }

    async fn model_ready(&self, request: Request<api::ModelReadyRequest>) -> Answer<api::ModelReadyResponse> {
        self.open(Category::Health, &request)?.model_is_ready(request.get_ref()).map(Response::new)
    }

    async fn server_metadata(
        &self,
        request: Request<api::ServerMetadataRequest>,
    ) -> Answer<api::ServerMetadataResponse> {
        Ok(Response::new(self.open(Category::Metadata, &request)?.metadata()))
    }

    async fn model_metadata(
        &self,
        request: Request<api::ModelMetadataRequest>,
    ) -> Answer<api::ModelMetadataResponse> {
        self.open(Category::Metadata, &request)?.metadata_of(request.get_ref()).map(Response::new)
    }

    async fn model_infer(&self, request: Request<api::ModelInferRequest>) -> Answer<api::ModelInferResponse> {
        self.open(Category::Inference, &request)?.infer(request).await.map(Response::new)
    }

    type ModelStreamInferStream = Responses;

    async fn model_stream_infer(
        &self,
        request: Request<Streaming<api::ModelInferRequest>>,
    ) -> Answer<Responses> {
        let frontend = Arc::clone(self.open(Category::Inference, &request)?);
        Ok(Response::new(frontend.stream(request)))
    }

    async fn model_config(
        &self,
        request: Request<api::ModelConfigRequest>,
    ) -> Answer<api::ModelConfigResponse> {
        self.open(Category::ModelConfig, &request)?.config_of(request.get_ref()).map(Response::new)
    }

    async fn model_statistics(
        &self,
        request: Request<api::ModelStatisticsRequest>,
    ) -> Answer<api::ModelStatisticsResponse> {
        self.open(Category::Statistics, &request)?.statistics_of(request.get_ref()).map(Response::new)
    }

    async fn repository_index(
        &self,
        request: Request<api::RepositoryIndexRequest>,
    ) -> Answer<api::RepositoryIndexResponse> {
        Err(self.later(Category::ModelRepository, &request, "the repository index"))
    }

    async fn repository_model_load(
        &self,
        request: Request<api::RepositoryModelLoadRequest>,
    ) -> Answer<api::RepositoryModelLoadResponse> {
        Err(self.later(Category::ModelRepository, &request, "loading models"))
    }

    async fn repository_model_unload(
        &self,
        request: Request<api::RepositoryModelUnloadRequest>,
    ) -> Answer<api::RepositoryModelUnloadResponse> {
        Err(self.later(Category::ModelRepository, &request, "unloading models"))
    }

    async fn system_shared_memory_status(
        &self,
        request: Request<api::SystemSharedMemoryStatusRequest>,
    ) -> Answer<api::SystemSharedMemoryStatusResponse> {
        Err(self.later(Category::SharedMemory, &request, "system shared memory"))
    }

    async fn system_shared_memory_register(
        &self,
        request: Request<api::SystemSharedMemoryRegisterRequest>,
    ) -> Answer<api::SystemSharedMemoryRegisterResponse> {
        Err(self.later(Category::SharedMemory, &request, "system shared memory"))
    }

    async fn system_shared_memory_unregister(
        &self,
        request: Request<api::SystemSharedMemoryUnregisterRequest>,
    ) -> Answer<api::SystemSharedMemoryUnregisterResponse> {
        Err(self.later(Category::SharedMemory, &request, "system shared memory"))
    }

    async fn cuda_shared_memory_status(
        &self,
        request: Request<api::CudaSharedMemoryStatusRequest>,
    ) -> Answer<api::CudaSharedMemoryStatusResponse> {
        Err(self.later(Category::SharedMemory, &request, "CUDA shared memory"))
    }

    async fn cuda_shared_memory_register(
        &self,
        request: Request<api::CudaSharedMemoryRegisterRequest>,
    ) -> Answer<api::CudaSharedMemoryRegisterResponse> {
        Err(self.later(Category::SharedMemory, &request, "CUDA shared memory"))
    }

    async fn cuda_shared_memory_unregister(
        &self,
        request: Request<api::CudaSharedMemoryUnregisterRequest>,
    ) -> Answer<api::CudaSharedMemoryUnregisterResponse> {
        Err(self.later(Category::SharedMemory, &request, "CUDA shared memory"))
    }

    async fn trace_setting(
        &self,
        request: Request<api::TraceSettingRequest>,
    ) -> Answer<api::TraceSettingResponse> {
        Err(self.later(Category::Trace, &request, "tracing"))
    }

    async fn log_settings(
        &self,
        request: Request<api::LogSettingsRequest>,
    ) -> Answer<api::LogSettingsResponse> {
        Err(self.later(Category::Logging, &request, "changing log settings"))
    }
}
