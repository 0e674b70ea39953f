//! `InferenceRequest`: what a model gets, and what it would send to another model.

use crate::{
    exceptions::TritonModelException,
    exchange::{self, Exchange, InferenceResponseSender},
    parameters::{self, Parameters},
    tensor::Tensor,
};
use nereid_worker::proto::worker::request::Correlation;
use pyo3::{
    IntoPyObjectExt as _,
    prelude::*,
    types::{PyInt, PyString},
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// The release flag that asks for the request to be queued again.
pub(crate) const RELEASE_RESCHEDULE: u32 = 2;

/// One request.
#[pyclass(frozen, module = "triton_python_backend_utils")]
#[derive(Debug)]
pub(crate) struct InferenceRequest {
    inputs: Vec<Py<Tensor>>,
    id: String,
    correlation: Correlation,
    requested_outputs: Vec<String>,
    model_name: String,
    flags: AtomicU32,
    release_flags: AtomicU32,
    timeout_us: u64,
    parameters: Parameters,
    trace: Option<Py<InferenceTrace>>,
    /// Where its answers go; none for a request that the model made itself.
    line: Option<(Arc<Exchange>, usize)>,
}

impl InferenceRequest {
    /// A request of the running batch.
    pub(crate) fn received(
        request: &nereid_worker::Request,
        inputs: Vec<Py<Tensor>>,
        line: (Arc<Exchange>, usize),
    ) -> Self {
        Self {
            inputs,
            id: request.id().to_owned(),
            correlation: request.correlation().cloned().unwrap_or(Correlation::CorrelationNumber(0)),
            requested_outputs: request.requested_outputs().to_vec(),
            model_name: String::new(),
            flags: AtomicU32::new(request.flags()),
            release_flags: AtomicU32::new(0),
            timeout_us: request.timeout_us(),
            parameters: parameters::from_protocol(request.parameters()),
            trace: None,
            line: Some(line),
        }
    }

    /// Whether the model asked for the request to be queued again.
    pub(crate) fn is_rescheduled(&self) -> bool {
        self.release_flags.load(Ordering::Relaxed) == RELEASE_RESCHEDULE
    }

    fn call_error(&self) -> PyErr {
        if !crate::execute::is_running() {
            return TritonModelException::new_err("BLS is only supported during the 'execute' function.");
        }
        TritonModelException::new_err(format!(
            "Failed for execute the inference request. Model '{}' cannot be called from inside a model: this server \
             does not offer calls to other models yet",
            self.model_name
        ))
    }
}

#[pymethods]
impl InferenceRequest {
    #[new]
    #[pyo3(signature = (
        request_id=String::new(), correlation_id=None, inputs=Vec::new(), requested_output_names=Vec::new(),
        model_name=String::new(), model_version=-1, flags=0, timeout=0, preferred_memory=None, trace=None,
        parameters=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the constructor that models know")]
    fn new(
        request_id: String,
        correlation_id: Option<Bound<'_, PyAny>>,
        inputs: Vec<Option<Py<Tensor>>>,
        requested_output_names: Vec<String>,
        model_name: String,
        model_version: i64,
        flags: u32,
        timeout: u64,
        preferred_memory: Option<Py<PreferredMemory>>,
        trace: Option<Py<InferenceTrace>>,
        parameters: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        // Nothing can be done with these before requests can be sent.
        let (_, _) = (model_version, preferred_memory);
        let place =
            format!("for request with id '{request_id}' and model name '{model_name}' should not be empty.");
        let inputs = inputs.into_iter().collect::<Option<Vec<_>>>();
        let inputs = inputs.ok_or_else(|| TritonModelException::new_err(format!("Input tensor {place}")))?;
        if requested_output_names.iter().any(String::is_empty) {
            return Err(TritonModelException::new_err(format!("Requested output name {place}")));
        }
        Ok(Self {
            inputs,
            id: request_id,
            correlation: correlation(correlation_id.as_ref())?,
            requested_outputs: requested_output_names,
            model_name,
            flags: AtomicU32::new(flags),
            release_flags: AtomicU32::new(0),
            timeout_us: timeout,
            parameters: parameters::from_dict(parameters.as_ref())?,
            trace,
            line: None,
        })
    }

    /// The input tensors, in a new list.
    fn inputs(&self, py: Python<'_>) -> Vec<Py<Tensor>> {
        self.inputs.iter().map(|tensor| tensor.clone_ref(py)).collect()
    }

    /// The client's id, may be empty.
    fn request_id(&self) -> &str {
        &self.id
    }

    /// The sequence that it belongs to: a number or a text.
    fn correlation_id(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.correlation {
            Correlation::CorrelationNumber(number) => number.into_py_any(py),
            Correlation::CorrelationText(text) => text.into_py_any(py),
        }
    }

    /// The sequence flags.
    fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Sets the sequence flags.
    fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// Says what is to become of the request when execute returns.
    fn set_release_flags(&self, flags: u32) {
        self.release_flags.store(flags, Ordering::Relaxed);
    }

    /// Microseconds that the client gives it; 0 for no limit.
    fn timeout(&self) -> u64 {
        self.timeout_us
    }

    /// The client's parameters as JSON text.
    fn parameters(&self) -> String {
        parameters::to_json(&self.parameters)
    }

    /// The outputs that the client asks for; empty for all.
    fn requested_output_names(&self) -> Vec<String> {
        self.requested_outputs.clone()
    }

    /// The request's place in a trace.
    fn trace(&self, py: Python<'_>) -> PyResult<Py<InferenceTrace>> {
        self.trace.as_ref().map_or_else(|| Py::new(py, InferenceTrace), |trace| Ok(trace.clone_ref(py)))
    }

    /// Sends responses instead of returning one.
    fn get_response_sender(&self) -> PyResult<InferenceResponseSender> {
        let (exchange, index) = self.line.as_ref().ok_or_else(|| {
            TritonModelException::new_err("A request that the model made itself has no response sender.")
        })?;
        Ok(InferenceResponseSender::new(Arc::clone(exchange), *index))
    }

    /// Whether nobody waits for the answer any more.
    fn is_cancelled(&self) -> bool {
        self.line.as_ref().is_some_and(|(exchange, index)| exchange::is_cancelled(exchange, *index))
    }

    /// Not available yet.
    #[pyo3(signature = (decoupled=false))]
    fn exec(&self, decoupled: bool) -> PyResult<()> {
        let _ = decoupled;
        Err(self.call_error())
    }

    /// Not available yet.
    #[pyo3(signature = (decoupled=false))]
    fn async_exec(&self, decoupled: bool) -> PyResult<()> {
        let _ = decoupled;
        Err(self.call_error())
    }
}

fn correlation(id: Option<&Bound<'_, PyAny>>) -> PyResult<Correlation> {
    let Some(id) = id else { return Ok(Correlation::CorrelationNumber(0)) };
    if id.is_instance_of::<PyInt>() {
        Ok(Correlation::CorrelationNumber(id.extract()?))
    } else if let Ok(text) = id.cast::<PyString>() {
        Ok(Correlation::CorrelationText(text.to_cow()?.into_owned()))
    } else {
        Err(TritonModelException::new_err("Correlation ID must be integer or string"))
    }
}

/// A request's place in a trace. Requests are not traced into models yet.
#[pyclass(frozen, module = "triton_python_backend_utils")]
#[derive(Debug)]
pub(crate) struct InferenceTrace;

#[pymethods]
impl InferenceTrace {
    #[new]
    fn new() -> Self {
        Self
    }

    /// What another service needs to continue the trace; None when there is none.
    fn get_context(&self) -> Option<&str> {
        None
    }
}

/// Where a model wants the outputs of a call to another model.
#[pyclass(frozen, module = "triton_python_backend_utils")]
#[derive(Debug)]
pub(crate) struct PreferredMemory;

#[pymethods]
impl PreferredMemory {
    #[new]
    #[pyo3(signature = (preferred_memory_type, preferred_device_id=0))]
    fn new(preferred_memory_type: u32, preferred_device_id: i64) -> Self {
        // Kept for the day when requests can be sent; main memory is all there is.
        let (_, _) = (preferred_memory_type, preferred_device_id);
        Self
    }
}
