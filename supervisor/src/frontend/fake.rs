//! A server behind the frontends that exists only in tests: models that return their inputs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nereid_core::config::normalise::{normalise, normalise_instance_groups};
use nereid_core::config::{ModelConfig, ServerFacts};
use nereid_core::error::ServeError;
use nereid_proto::inference::model_metadata_response::TensorMetadata;
use nereid_proto::inference::{
    DataType, InferStatistics, ModelConfig as RawConfig, ModelInput, ModelMetadataResponse, ModelOutput,
    ModelStatistics, ModelTransactionPolicy, StatisticDuration,
};

use super::Upstream;
use super::rope::joined;
use crate::serve::admission::{Admission, InflightBytes};
use crate::serve::request::{InferRequest, InferResponse, OutputTensor};
use crate::serve::{ModelView, ServerMetadata};

/// Room for requests in flight.
pub(crate) const ROOM: u64 = 8 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Fake {
    metadata: ServerMetadata,
    admission: Arc<Admission>,
    pub(crate) live: AtomicBool,
    pub(crate) ready: AtomicBool,
    /// Inferences of the model `never` that run now.
    pub(crate) running: AtomicUsize,
}

#[derive(Debug)]
struct FakeModel(ModelConfig);

/// Counts a running inference, even if it is cancelled.
struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Fake {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            metadata: ServerMetadata {
                name: "fake".into(),
                version: "1.2.3".into(),
                extensions: vec!["binary_tensor_data".into(), "statistics".into()],
            },
            admission: Admission::new(ROOM),
            live: AtomicBool::new(true),
            ready: AtomicBool::new(true),
            running: AtomicUsize::new(0),
        })
    }

    pub(crate) fn inflight(&self) -> u64 {
        self.admission.bytes()
    }
}

/// `identity` takes any vector of floats, `pair` two inputs, `string` one string, `open` a matrix of unknown size,
/// `never` never answers, `broken` always fails, `decoupled` is what its name says.
pub(crate) fn config(name: &str) -> Option<ModelConfig> {
    let input = |name: &str, datatype: DataType, dims: &[i64]| ModelInput {
        name: name.into(),
        data_type: datatype.into(),
        dims: dims.to_vec(),
        ..ModelInput::default()
    };
    let vector = || vec![input("INPUT0", DataType::TypeFp32, &[-1])];
    let inputs = match name {
        "identity" | "never" | "broken" | "decoupled" | "loading" => vector(),
        "pair" => vec![vector().remove(0), input("INPUT1", DataType::TypeFp32, &[-1])],
        "string" => vec![input("INPUT0", DataType::TypeString, &[1])],
        "open" => vec![input("INPUT0", DataType::TypeFp32, &[-1, -1])],
        _ => return None,
    };
    let outputs = inputs.iter().map(|input| ModelOutput {
        name: input.name.replace("INPUT", "OUTPUT"),
        data_type: input.data_type,
        dims: input.dims.clone(),
        ..ModelOutput::default()
    });
    let mut raw = RawConfig {
        name: name.into(),
        backend: "fake".into(),
        output: outputs.collect(),
        input: inputs,
        model_transaction_policy: Some(ModelTransactionPolicy { decoupled: name == "decoupled" }),
        ..RawConfig::default()
    };
    let facts = ServerFacts { supports_gpus: false, ..ServerFacts::default() };
    normalise(&mut raw);
    normalise_instance_groups(&mut raw, &facts, &[]);
    Some(ModelConfig::new(raw, &facts).unwrap())
}

impl Upstream for Fake {
    fn metadata(&self) -> &ServerMetadata {
        &self.metadata
    }

    fn is_live(&self) -> bool {
        self.live.load(Ordering::SeqCst)
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::SeqCst)
    }

    fn model_ready(&self, model: &str, version: Option<i64>) -> Result<bool, ServeError> {
        self.model(model, version).map(|_| model != "loading")
    }

    fn model(&self, model: &str, version: Option<i64>) -> Result<Arc<dyn ModelView>, ServeError> {
        let config = config(model).ok_or_else(|| {
            ServeError::not_found(format!("Request for unknown model: '{model}' is not found"))
        })?;
        match version {
            None | Some(1) => Ok(Arc::new(FakeModel(config))),
            Some(version) => Err(ServeError::not_found(format!(
                "Request for unknown model: '{model}' version {version} is not found"
            ))),
        }
    }

    fn model_metadata(&self, model: &str, version: Option<i64>) -> Result<ModelMetadataResponse, ServeError> {
        Ok(self.model(model, version)?.metadata())
    }

    fn statistics(&self, model: Option<&str>, _: Option<i64>) -> Result<Vec<ModelStatistics>, ServeError> {
        let name = model.unwrap_or("identity");
        if config(name).is_none() {
            return Err(ServeError::invalid(format!("requested model '{name}' is not available")));
        }
        let success = StatisticDuration { count: 2, ns: 300 };
        Ok(vec![ModelStatistics {
            name: name.into(),
            version: "1".into(),
            inference_count: 2,
            execution_count: 1,
            inference_stats: Some(InferStatistics { success: Some(success), ..InferStatistics::default() }),
            ..ModelStatistics::default()
        }])
    }

    fn reserve(&self, bytes: u64) -> Result<InflightBytes, ServeError> {
        self.admission.admit(bytes)
    }

    async fn infer(&self, request: InferRequest) -> Result<InferResponse, ServeError> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(&self.running);
        if request.model == "never" {
            std::future::pending::<()>().await;
        }
        if request.model == "broken" {
            return Err(ServeError::internal("the model is broken"));
        }
        let outputs = request.inputs.into_iter().map(|input| OutputTensor {
            name: input.name.replace("INPUT", "OUTPUT"),
            datatype: input.datatype,
            shape: input.shape,
            data: joined(&input.data),
        });
        Ok(InferResponse {
            model: request.model,
            version: 1,
            id: request.id,
            parameters: request.parameters,
            outputs: outputs.collect(),
        })
    }
}

impl ModelView for FakeModel {
    fn config(&self) -> &ModelConfig {
        &self.0
    }

    fn config_json(&self) -> &str {
        "{\"name\":\"fake\"}"
    }

    fn metadata(&self) -> ModelMetadataResponse {
        let tensor =
            |name: &str| TensorMetadata { name: name.into(), datatype: "FP32".into(), shape: vec![-1, 16] };
        ModelMetadataResponse {
            name: self.0.name().to_owned(),
            versions: vec!["1".into()],
            platform: "fake".into(),
            inputs: vec![tensor("INPUT0")],
            outputs: vec![tensor("OUTPUT0")],
        }
    }

    fn is_decoupled(&self) -> bool {
        self.0.is_decoupled()
    }
}
