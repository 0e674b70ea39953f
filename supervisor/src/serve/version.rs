//! A model version as everybody else sees it: its configuration, its counters, the way to its task.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nereid_core::config::{DataType, InstanceSpec, ModelConfig};
use nereid_core::error::ServeError;
use nereid_core::ids::{InstanceId, Ticket};
use nereid_core::request::{self, InputView, RequestFacts, RequestView};
use nereid_core::schedule::QueuedRequest;
use nereid_core::stats::{FailureReason, VersionStats};
use nereid_core::time::Duration;
use nereid_proto::inference as pb;
use nereid_proto::inference::model_metadata_response::TensorMetadata;
use nereid_proto::inference::{ModelMetadataResponse, ModelStatistics};
use tokio::sync::{mpsc, oneshot};

use super::ModelView;
use super::admission::InflightBytes;
use super::model::Message;
use super::request::{InferRequest, InferResponse};
use super::tickets::{Pending, next_ticket};
use crate::fleet::status::StatusCell;

/// From this size on a check of strings would hold the runtime up for longer than a hop to another thread costs.
const INLINE_CHECK_BYTES_MAX: usize = 256 * 1024;

/// What the tasks around a version share.
#[derive(Debug)]
pub struct VersionShared {
    pub name: String,
    pub version: i64,
    pub config: ModelConfig,
    pub config_json: String,
    /// By instance number.
    pub instances: Vec<InstanceSpec>,
    /// Requests that wait for an instance.
    pub queued: AtomicUsize,
    /// By instance number.
    pub statuses: Vec<Arc<StatusCell>>,
    ready: AtomicBool,
    load_micros: AtomicU64,
    stats: Mutex<VersionStats>,
    inbox: mpsc::Sender<Message>,
}

impl VersionShared {
    /// The shared part of a version whose task reads from the other end of `inbox`.
    #[must_use]
    pub fn new(
        version: i64,
        config: ModelConfig,
        instances: Vec<InstanceSpec>,
        statuses: Vec<Arc<StatusCell>>,
        inbox: mpsc::Sender<Message>,
    ) -> Self {
        Self {
            name: config.name().to_owned(),
            version,
            config_json: config.to_json(),
            config,
            instances,
            queued: AtomicUsize::new(0),
            statuses,
            ready: AtomicBool::new(false),
            load_micros: AtomicU64::new(0),
            stats: Mutex::default(),
            inbox,
        }
    }

    /// The counters. Held for a few additions only.
    pub fn stats(&self) -> MutexGuard<'_, VersionStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an instance can take a request now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Says whether an instance can take a request now.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// How long the load took, in seconds.
    #[must_use]
    pub fn load_seconds(&self) -> f64 {
        Duration::from_micros(self.load_micros.load(Ordering::Relaxed)).as_secs_f64()
    }

    /// Keeps how long the load took.
    pub fn set_load_time(&self, time: Duration) {
        self.load_micros.store(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The counters in the statistics extension's form.
    #[must_use]
    pub fn statistics(&self) -> ModelStatistics {
        self.stats().to_proto(&self.name, &self.version.to_string())
    }

    /// The way to the version's task.
    #[must_use]
    pub fn inbox(&self) -> &mpsc::Sender<Message> {
        &self.inbox
    }

    /// For error texts: which instance is meant.
    pub(super) fn instance_name(&self, instance: InstanceId) -> &str {
        self.instances.get(instance.0 as usize).map_or("?", |spec| spec.name.as_str())
    }

    pub(super) fn has_output(&self, name: &str) -> bool {
        self.config.output(name).is_some()
    }

    /// Checks a request against the configuration, hands it to the task and waits for its answer. Dropping the
    /// future cancels the request.
    pub async fn infer(
        self: &Arc<Self>,
        request: InferRequest,
        bytes: InflightBytes,
    ) -> Result<InferResponse, ServeError> {
        let arrived = Instant::now();
        let (request, facts) = self.checked(request).await?;
        let ticket = next_ticket();
        let queued = QueuedRequest {
            ticket,
            batch_size: facts.rows(),
            shape_key: facts.shape_key,
            priority: request.priority,
            timeout: (request.timeout_us > 0).then(|| Duration::from_micros(request.timeout_us)),
        };
        let (answer, answered) = oneshot::channel();
        let pending = Box::new(Pending {
            request,
            answer,
            queued: queued.clone(),
            arrived,
            started: None,
            first_response: None,
            copies: Vec::new(),
            responses: 0,
            bytes,
        });
        let message = Message::Infer { ticket, queued, pending };
        self.inbox.try_send(message).map_err(|error| self.refused(error))?;
        let mut guard = CancelOnDrop { ticket: Some(ticket), inbox: &self.inbox };
        let answer = answered.await;
        guard.ticket = None;
        answer.unwrap_or_else(|_| {
            Err(ServeError::unavailable(format!(
                "model '{}' version {} was unloaded",
                self.name, self.version
            )))
        })
    }

    /// Strings are looked at one by one: many of them on a thread that may be held up.
    async fn checked(
        self: &Arc<Self>,
        request: InferRequest,
    ) -> Result<(InferRequest, RequestFacts), ServeError> {
        let strings = request.inputs.iter().filter(|input| input.datatype == pb::DataType::TypeString);
        if strings.map(|input| input.data.len()).sum::<usize>() <= INLINE_CHECK_BYTES_MAX {
            let facts = self.check(&request)?;
            return Ok((request, facts));
        }
        let shared = Arc::clone(self);
        let checked =
            tokio::task::spawn_blocking(move || shared.check(&request).map(|facts| (request, facts)));
        checked.await.unwrap_or_else(|error| {
            Err(ServeError::internal(format!("checking the request failed: {error}")))
        })
    }

    fn check(&self, request: &InferRequest) -> Result<RequestFacts, ServeError> {
        let inputs: Vec<InputView<'_>> = request
            .inputs
            .iter()
            .map(|input| InputView {
                name: &input.name,
                datatype: DataType::from_proto(input.datatype),
                shape: &input.shape,
                byte_len: input.data.len() as u64,
                bytes: input.data.as_slice(),
            })
            .collect();
        let outputs: Vec<&str> = request.outputs.iter().map(String::as_str).collect();
        let view = RequestView { id: &request.id, inputs: &inputs, outputs: &outputs };
        request::check(&self.config, &view).inspect_err(|_| {
            self.stats().record_failure(FailureReason::Other, Duration::ZERO);
        })
    }

    fn refused(&self, error: mpsc::error::TrySendError<Message>) -> ServeError {
        let (message, why) = match error {
            mpsc::error::TrySendError::Full(message) => (message, "Exceeds maximum queue size"),
            mpsc::error::TrySendError::Closed(message) => (
                message,
                "Server is stopping, scheduler for model has stopped accepting new inference requests",
            ),
        };
        self.stats().record_failure(FailureReason::Rejected, Duration::ZERO);
        let id = match &message {
            Message::Infer { pending, .. } if !pending.request.id.is_empty() => pending.request.id.as_str(),
            _ => "<id_unknown>",
        };
        ServeError::unavailable(format!("[request id: {id}] {why}"))
    }
}

/// Tells the task when the one who waits goes away.
struct CancelOnDrop<'a> {
    ticket: Option<Ticket>,
    inbox: &'a mpsc::Sender<Message>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            // Should the inbox be full, the request runs and nobody reads its answer.
            let _ = self.inbox.try_send(Message::Cancel(ticket));
        }
    }
}

impl ModelView for VersionShared {
    fn config(&self) -> &ModelConfig {
        &self.config
    }

    fn config_json(&self) -> &str {
        &self.config_json
    }

    fn metadata(&self) -> ModelMetadataResponse {
        let tensor = |name: &str, datatype: DataType, shape: &[i64]| TensorMetadata {
            name: name.to_owned(),
            datatype: datatype.wire_name().to_owned(),
            shape: shape.to_vec(),
        };
        let inputs = self.config.inputs().iter();
        let outputs = self.config.outputs().iter();
        ModelMetadataResponse {
            name: self.name.clone(),
            versions: vec![self.version.to_string()],
            platform: self.config.platform().to_owned(),
            inputs: inputs.map(|input| tensor(&input.name, input.datatype, &input.full_dims)).collect(),
            outputs: outputs.map(|output| tensor(&output.name, output.datatype, &output.full_dims)).collect(),
        }
    }

    fn is_decoupled(&self) -> bool {
        self.config.is_decoupled()
    }
}
