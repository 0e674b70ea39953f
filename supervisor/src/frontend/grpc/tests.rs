//! The services as a client sees them, over a connection of its own, with a server behind that returns its inputs.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use nereid_proto::health::HealthCheckRequest;
use nereid_proto::health::health_client::HealthClient;
use nereid_proto::inference::grpc_inference_service_client::GrpcInferenceServiceClient;
use nereid_proto::inference::infer_parameter::ParameterChoice;
use nereid_proto::inference::model_infer_request::InferInputTensor;
use nereid_proto::inference::{
    InferParameter, InferTensorContents, ModelInferRequest, ModelReadyRequest, ModelStreamInferResponse,
    RepositoryIndexRequest, ServerLiveRequest, ServerMetadataRequest, ServerReadyRequest,
};
use tokio::sync::watch;
use tonic::Code;
use tonic::transport::Channel;

use super::*;
use crate::frontend::fake::Fake;
use crate::frontend::listen::Address;
use crate::frontend::restrict::Key;

fn settings() -> GrpcSettings {
    GrpcSettings {
        restrictions: Restrictions::default(),
        forward: None,
        compress_responses: false,
        keepalive_time: Duration::from_secs(7200),
        keepalive_timeout: Duration::from_secs(20),
        connection_age_max: None,
        connection_age_grace: None,
    }
}

struct Served {
    fake: Arc<Fake>,
    client: GrpcInferenceServiceClient<Channel>,
    health: HealthClient<Channel>,
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

async fn serve(settings: GrpcSettings) -> Served {
    let address = Address { host: "127.0.0.1".into(), port: 0, reuse_port: false };
    let listener = listen::bind(&address).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (stop, stopping) = watch::channel(false);
    let fake = Fake::new();
    let frontend = GrpcFrontend::new(Arc::clone(&fake), settings, Shutdown::new(stopping));
    let task = tokio::spawn(frontend.serve(listener));
    let channel = Channel::from_shared(format!("http://127.0.0.1:{port}")).unwrap().connect().await.unwrap();
    Served {
        fake,
        client: GrpcInferenceServiceClient::new(channel.clone()).max_decoding_message_size(MESSAGE_SIZE_MAX),
        health: HealthClient::new(channel),
        stop,
        task,
    }
}

fn infer(model: &str, id: &str) -> ModelInferRequest {
    ModelInferRequest {
        model_name: model.into(),
        id: id.into(),
        inputs: vec![InferInputTensor {
            name: "INPUT0".into(),
            datatype: "FP32".into(),
            shape: vec![1],
            ..InferInputTensor::default()
        }],
        raw_input_contents: vec![Bytes::copy_from_slice(&1.5_f32.to_le_bytes())],
        ..ModelInferRequest::default()
    }
}

async fn until(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.expect("the condition never became true");
}

#[tokio::test]
async fn health_and_metadata_are_told() {
    let mut served = serve(settings()).await;
    let client = &mut served.client;
    assert!(client.server_live(ServerLiveRequest {}).await.unwrap().into_inner().live);
    assert!(client.server_ready(ServerReadyRequest {}).await.unwrap().into_inner().ready);
    let ready = |name: &str| ModelReadyRequest { name: name.into(), version: String::new() };
    assert!(client.model_ready(ready("identity")).await.unwrap().into_inner().ready);
    assert!(!client.model_ready(ready("loading")).await.unwrap().into_inner().ready);
    assert_eq!(client.model_ready(ready("none")).await.unwrap_err().code(), Code::NotFound);
    let metadata = client.server_metadata(ServerMetadataRequest {}).await.unwrap().into_inner();
    assert_eq!(metadata.name, "fake");
    let status = served.health.check(HealthCheckRequest::default()).await.unwrap().into_inner().status;
    assert_eq!(status, 1);
    served.fake.ready.store(false, Ordering::SeqCst);
    let status = served.health.check(HealthCheckRequest::default()).await.unwrap().into_inner().status;
    assert_eq!(status, 2);
    served.fake.live.store(false, Ordering::SeqCst);
    let error = client.server_live(ServerLiveRequest {}).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::Unavailable, "Server exiting"));
}

#[tokio::test]
async fn an_inference_returns_raw_contents() {
    let mut served = serve(settings()).await;
    let response = served.client.model_infer(infer("identity", "7")).await.unwrap().into_inner();
    assert_eq!((response.model_name.as_str(), response.model_version.as_str()), ("identity", "1"));
    assert_eq!(response.id, "7");
    assert_eq!(response.outputs[0].name, "OUTPUT0");
    assert_eq!(response.raw_output_contents, [1.5_f32.to_le_bytes().as_slice()]);
}

#[tokio::test]
async fn errors_have_their_code_and_text() {
    let mut served = serve(settings()).await;
    for (model, code, text) in [
        ("none", Code::NotFound, "Request for unknown model: 'none' is not found"),
        (
            "decoupled",
            Code::Unimplemented,
            "ModelInfer RPC doesn't support models with decoupled transaction policy",
        ),
        ("broken", Code::Internal, "the model is broken"),
    ] {
        let error = served.client.model_infer(infer(model, "")).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (code, text));
    }
    let error = served.client.repository_index(RepositoryIndexRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
}

#[tokio::test]
async fn large_tensors_go_there_and_back() {
    let mut served = serve(settings()).await;
    let data = Bytes::from(vec![3; 6 << 20]);
    let mut request = infer("identity", "");
    request.inputs[0].shape = vec![(6 << 20) / 4];
    request.raw_input_contents = vec![data.clone()];
    let response = served.client.model_infer(request).await.unwrap().into_inner();
    assert!(response.raw_output_contents[0] == data);
    until(|| served.fake.inflight() == 0).await;
}

#[tokio::test]
async fn long_typed_contents_are_understood_and_long_descriptions_refused() {
    let mut served = serve(settings()).await;
    let values = vec![1.5_f32; 200_000];
    let mut request = infer("identity", "");
    request.raw_input_contents.clear();
    request.inputs[0].contents =
        Some(InferTensorContents { fp32_contents: values.clone(), ..InferTensorContents::default() });
    let response = served.client.model_infer(request).await.unwrap().into_inner();
    assert!(
        response.raw_output_contents[0]
            == values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()
    );
    let error = served.client.model_infer(infer("identity", &"x".repeat(2 << 20))).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("the limit is 1048576 bytes"), "{}", error.message());
}

#[tokio::test]
async fn packed_requests_and_responses_are_understood() {
    let served = serve(GrpcSettings { compress_responses: true, ..settings() }).await;
    for encoding in [CompressionEncoding::Gzip, CompressionEncoding::Deflate] {
        let mut client = served.client.clone().send_compressed(encoding).accept_compressed(encoding);
        let response = client.model_infer(infer("identity", "")).await.unwrap();
        assert!(response.metadata().get("grpc-encoding").is_some());
        assert_eq!(response.into_inner().raw_output_contents, [1.5_f32.to_le_bytes().as_slice()]);
    }
}

#[tokio::test]
async fn a_client_that_leaves_or_runs_out_of_time_cancels_its_inference() {
    let served = serve(settings()).await;
    let mut client = served.client.clone();
    let call = tokio::spawn(async move { client.model_infer(infer("never", "")).await });
    until(|| served.fake.running.load(Ordering::SeqCst) == 1).await;
    call.abort();
    until(|| served.fake.running.load(Ordering::SeqCst) == 0).await;
    let mut request = tonic::Request::new(infer("never", ""));
    request.set_timeout(Duration::from_millis(20));
    let code = served.client.clone().model_infer(request).await.unwrap_err().code();
    assert!(matches!(code, Code::DeadlineExceeded | Code::Cancelled), "{code:?}");
    until(|| served.fake.running.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn a_restricted_protocol_wants_its_metadata() {
    let mut settings = settings();
    let key = Key::new("triton-grpc-protocol-infer-key".into(), "v".into());
    assert!(settings.restrictions.add(Category::Inference, key));
    let mut served = serve(settings).await;
    let error = served.client.model_infer(infer("identity", "")).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert_eq!(
        error.message(),
        "This protocol is restricted, expecting header 'triton-grpc-protocol-infer-key'"
    );
    let mut request = tonic::Request::new(infer("identity", ""));
    request.metadata_mut().insert("triton-grpc-protocol-infer-key", "v".parse().unwrap());
    served.client.model_infer(request).await.unwrap();
    served.client.server_live(ServerLiveRequest {}).await.unwrap();
}

#[tokio::test]
async fn metadata_that_matches_becomes_parameters() {
    let forward = Some(ForwardPattern::new("^my-").unwrap());
    let mut served = serve(GrpcSettings { forward, ..settings() }).await;
    let mut request = tonic::Request::new(infer("identity", ""));
    request.metadata_mut().insert("my-header", "x".parse().unwrap());
    let response = served.client.model_infer(request).await.unwrap().into_inner();
    let value = InferParameter { parameter_choice: Some(ParameterChoice::StringParam("x".into())) };
    assert_eq!(response.parameters, BTreeMap::from([("my-header".to_owned(), value)]));
}

#[tokio::test]
async fn shutdown_refuses_new_inferences_and_ends() {
    let served = serve(settings()).await;
    served.stop.send(true).unwrap();
    drop((served.client, served.health));
    served.task.await.unwrap();
}

/// The responses to these requests, sent over one stream.
async fn streamed(
    served: &Served,
    requests: Vec<ModelInferRequest>,
    strict: bool,
) -> (Vec<ModelStreamInferResponse>, Option<Status>) {
    let mut request = tonic::Request::new(tokio_stream_of(requests));
    if strict {
        request.metadata_mut().insert("triton_grpc_error", "true".parse().unwrap());
    }
    let mut stream = served.client.clone().model_stream_infer(request).await.unwrap().into_inner();
    let mut responses = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(response)) => responses.push(response),
            Ok(None) => return (responses, None),
            Err(status) => return (responses, Some(status)),
        }
    }
}

fn tokio_stream_of(
    requests: Vec<ModelInferRequest>,
) -> impl tonic::codegen::tokio_stream::Stream<Item = ModelInferRequest> + Send + 'static {
    tonic::codegen::tokio_stream::iter(requests)
}

#[tokio::test]
async fn a_stream_answers_in_the_order_of_its_requests_and_survives_errors() {
    let served = serve(settings()).await;
    let models = ["identity", "broken", "none", "identity"];
    let requests = models.iter().enumerate().map(|(index, model)| infer(model, &index.to_string())).collect();
    let (responses, end) = streamed(&served, requests, false).await;
    assert!(end.is_none());
    let is_final = |response: &ModelStreamInferResponse| {
        let parameters = &response.infer_response.as_ref().unwrap().parameters;
        parameters.get("triton_final_response").and_then(|value| value.parameter_choice.clone())
            == Some(ParameterChoice::BoolParam(true))
    };
    let ids: Vec<&str> =
        responses.iter().map(|response| response.infer_response.as_ref().unwrap().id.as_str()).collect();
    assert_eq!(ids, ["0", "1", "2", "3"]);
    assert_eq!(responses[1].error_message, "the model is broken");
    assert_eq!(responses[1].infer_response.as_ref().unwrap().model_name, "broken");
    assert_eq!(responses[2].error_message, "Request for unknown model: 'none' is not found");
    assert!(responses[2].infer_response.as_ref().unwrap().model_name.is_empty());
    let finals: Vec<bool> = responses.iter().map(is_final).collect();
    assert_eq!(finals, [true, true, false, true]);
}

#[tokio::test]
async fn in_strict_mode_the_first_failed_inference_ends_the_stream() {
    let served = serve(settings()).await;
    let requests = ["none", "identity", "broken", "identity"].map(|model| infer(model, "")).to_vec();
    let (responses, end) = streamed(&served, requests, true).await;
    assert_eq!(responses.len(), 2);
    let end = end.unwrap();
    assert_eq!((end.code(), end.message()), (Code::Internal, "the model is broken"));
}

#[tokio::test]
async fn a_stream_that_is_dropped_cancels_its_inferences() {
    let served = serve(settings()).await;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let requests = async_requests(receiver);
    let stream = served.client.clone().model_stream_infer(requests).await.unwrap();
    sender.send(infer("never", "")).await.unwrap();
    until(|| served.fake.running.load(Ordering::SeqCst) == 1).await;
    drop((stream, sender));
    until(|| served.fake.running.load(Ordering::SeqCst) == 0).await;
}

fn async_requests(
    mut receiver: tokio::sync::mpsc::Receiver<ModelInferRequest>,
) -> impl tonic::codegen::tokio_stream::Stream<Item = ModelInferRequest> + Send + 'static {
    struct Requests<F>(F);
    impl<F> tonic::codegen::tokio_stream::Stream for Requests<F>
    where
        F: FnMut(&mut std::task::Context<'_>) -> std::task::Poll<Option<ModelInferRequest>> + Unpin,
    {
        type Item = ModelInferRequest;
        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<ModelInferRequest>> {
            (self.0)(cx)
        }
    }
    Requests(move |cx: &mut std::task::Context<'_>| receiver.poll_recv(cx))
}
