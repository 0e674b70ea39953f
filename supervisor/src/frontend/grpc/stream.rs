//! Inference over a stream: requests are read ahead, responses come in the order of the requests.
//!
//! An error of one request is a message on the stream, which stays open; with the client's consent (strict mode) the
//! first error of an inference ends the call with a status instead. Decoupled models are not served yet.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use nereid_core::error::ServeError;
use nereid_proto::inference::infer_parameter::ParameterChoice;
use nereid_proto::inference::{
    InferParameter, ModelInferRequest, ModelInferResponse, ModelStreamInferResponse,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::codegen::tokio_stream::Stream;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status, Streaming};

use super::infer::entries;
use super::{GrpcFrontend, convert};
use crate::frontend::{Upstream, status};

/// Requests of one stream that are read before the first of them is answered.
const READ_AHEAD_MAX: usize = 1024;
/// The client asks for strict mode by this entry of the call's metadata.
const STRICT_MODE: &str = "triton_grpc_error";
/// Tells with every response whether it is the request's last.
const FINAL_RESPONSE: &str = "triton_final_response";

/// The outcome of one request: a message, and the status that ends the call in strict mode.
#[derive(Debug)]
struct Outcome {
    message: ModelStreamInferResponse,
    failure: Option<Status>,
}

/// A task that ends with its handle.
#[derive(Debug)]
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What the reader hands on, in order.
#[derive(Debug)]
enum Pending {
    /// Refused before it ran.
    Refused(Box<Outcome>),
    Running(Task<Outcome>),
    /// Reading failed; nothing follows.
    Broken(Box<Status>),
}

/// The responses of one call. Dropping it cancels the call's requests.
#[derive(Debug)]
pub(super) struct Responses {
    pending: mpsc::Receiver<Pending>,
    current: Option<Pending>,
    strict: bool,
    over: bool,
    _reader: Task<()>,
}

impl<U: Upstream> GrpcFrontend<U> {
    pub(super) fn stream(self: Arc<Self>, request: Request<Streaming<ModelInferRequest>>) -> Responses {
        let (metadata, _, messages) = request.into_parts();
        let strict = metadata.get(STRICT_MODE).is_some_and(|value| value.as_bytes() == b"true");
        let (sender, pending) = mpsc::channel(READ_AHEAD_MAX);
        let reader = Task(tokio::spawn(self.read_ahead(metadata, messages, sender)));
        Responses { pending, current: None, strict, over: false, _reader: reader }
    }

    async fn read_ahead(
        self: Arc<Self>,
        metadata: MetadataMap,
        mut messages: Streaming<ModelInferRequest>,
        sender: mpsc::Sender<Pending>,
    ) {
        loop {
            // A place first: what is read has to be bounded.
            let Ok(place) = sender.reserve().await else { return };
            match messages.message().await {
                Ok(Some(message)) => place.send(Arc::clone(&self).start(&metadata, message).await),
                Ok(None) => return,
                Err(status) => return place.send(Pending::Broken(Box::new(status))),
            }
        }
    }

    async fn start(self: Arc<Self>, metadata: &MetadataMap, message: ModelInferRequest) -> Pending {
        let about = About {
            id: message.id.clone(),
            model_name: message.model_name.clone(),
            model_version: message.model_version.clone(),
        };
        let prepared =
            self.prepare(entries(metadata), message.into(), "decoupled models are not supported yet").await;
        match prepared {
            Err(error) => Pending::Refused(Box::new(about.refused(error))),
            Ok(request) => Pending::Running(Task(tokio::spawn(async move {
                let response = self.upstream.infer(request).await;
                match response.and_then(convert::response) {
                    Ok(response) => finished(response),
                    Err(error) => about.failed(error),
                }
            }))),
        }
    }
}

/// What an error message says about its request.
struct About {
    id: String,
    model_name: String,
    model_version: String,
}

impl About {
    /// The request never reached a model.
    fn refused(self, error: ServeError) -> Outcome {
        let response = ModelInferResponse { id: self.id, ..ModelInferResponse::default() };
        let message =
            ModelStreamInferResponse { error_message: error.message, infer_response: Some(response) };
        Outcome { message, failure: None }
    }

    /// The inference failed.
    fn failed(self, error: ServeError) -> Outcome {
        let response = ModelInferResponse {
            id: self.id,
            model_name: self.model_name,
            model_version: self.model_version,
            parameters: final_response(),
            ..ModelInferResponse::default()
        };
        let message =
            ModelStreamInferResponse { error_message: error.message.clone(), infer_response: Some(response) };
        Outcome { message, failure: Some(status::grpc(error)) }
    }
}

fn finished(mut response: ModelInferResponse) -> Outcome {
    response.parameters.append(&mut final_response());
    let message = ModelStreamInferResponse { error_message: String::new(), infer_response: Some(response) };
    Outcome { message, failure: None }
}

fn final_response() -> BTreeMap<String, InferParameter> {
    let value = InferParameter { parameter_choice: Some(ParameterChoice::BoolParam(true)) };
    BTreeMap::from([(FINAL_RESPONSE.to_owned(), value)])
}

impl Responses {
    fn end(&mut self, status: Status) -> Poll<Option<Result<ModelStreamInferResponse, Status>>> {
        self.over = true;
        self.pending.close();
        self.current = None;
        while self.pending.try_recv().is_ok() {}
        Poll::Ready(Some(Err(status)))
    }
}

impl Stream for Responses {
    type Item = Result<ModelStreamInferResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.over {
            return Poll::Ready(None);
        }
        if this.current.is_none() {
            this.current = ready!(this.pending.poll_recv(cx));
        }
        let outcome = match &mut this.current {
            None => {
                this.over = true;
                return Poll::Ready(None);
            }
            Some(Pending::Running(task)) => match ready!(Pin::new(&mut task.0).poll(cx)) {
                Ok(outcome) => {
                    this.current = None;
                    outcome
                }
                Err(error) => return this.end(Status::internal(format!("an inference was lost: {error}"))),
            },
            Some(_) => match this.current.take() {
                Some(Pending::Refused(outcome)) => *outcome,
                Some(Pending::Broken(status)) => return this.end(*status),
                Some(Pending::Running(_)) | None => return Poll::Ready(None),
            },
        };
        match outcome.failure {
            Some(status) if this.strict => this.end(status),
            _ => Poll::Ready(Some(Ok(outcome.message))),
        }
    }
}
