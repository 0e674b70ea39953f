//! `InferenceResponse` and `TritonError`: what a model answers.

use crate::{
    exceptions::TritonModelException,
    parameters::{self, Parameters},
    tensor::Tensor,
};
use nereid_worker::{Batch, ErrorCode, WorkerError};
use pyo3::{exceptions::PyTypeError, prelude::*};

/// Triton's error codes.
#[pyclass(frozen, eq, eq_int, hash, module = "triton_python_backend_utils", name = "ErrorCode")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::upper_case_acronyms, non_camel_case_types, reason = "Python's names")]
pub(crate) enum Code {
    UNKNOWN = 0,
    INTERNAL = 1,
    NOT_FOUND = 2,
    INVALID_ARG = 3,
    UNAVAILABLE = 4,
    UNSUPPORTED = 5,
    ALREADY_EXISTS = 6,
    CANCELLED = 7,
}

impl Code {
    const ALL: [Self; 8] = [
        Self::UNKNOWN,
        Self::INTERNAL,
        Self::NOT_FOUND,
        Self::INVALID_ARG,
        Self::UNAVAILABLE,
        Self::UNSUPPORTED,
        Self::ALREADY_EXISTS,
        Self::CANCELLED,
    ];

    fn to_protocol(self) -> ErrorCode {
        match self {
            Self::UNKNOWN => ErrorCode::Unknown,
            Self::INTERNAL => ErrorCode::Internal,
            Self::NOT_FOUND => ErrorCode::NotFound,
            Self::INVALID_ARG => ErrorCode::InvalidArg,
            Self::UNAVAILABLE => ErrorCode::Unavailable,
            Self::UNSUPPORTED => ErrorCode::Unsupported,
            Self::ALREADY_EXISTS => ErrorCode::AlreadyExists,
            Self::CANCELLED => ErrorCode::Cancelled,
        }
    }
}

/// The failure of one request.
#[pyclass(frozen, module = "triton_python_backend_utils")]
#[derive(Debug)]
pub(crate) struct TritonError {
    message: String,
    code: Code,
}

impl TritonError {
    fn to_worker_error(&self) -> WorkerError {
        WorkerError::new(self.code.to_protocol(), self.message.clone())
    }
}

#[pymethods]
impl TritonError {
    #[new]
    #[pyo3(signature = (message, code=None))]
    fn new(message: String, code: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(code) = code else { return Ok(Self { message, code: Code::INTERNAL }) };
        let number: usize = code.extract().or_else(|_| code.call_method0("__int__")?.extract())?;
        let code = Code::ALL.get(number).copied();
        let code = code.ok_or_else(|| PyTypeError::new_err(format!("{number} is no code of TritonError")))?;
        Ok(Self { message, code })
    }

    /// One of the class's constants.
    fn code(&self) -> Code {
        self.code
    }

    /// The text for the client.
    fn message(&self) -> &str {
        &self.message
    }

    fn __repr__(&self) -> String {
        format!("<TritonError {:?}: {}>", self.code, self.message)
    }

    #[classattr]
    const UNKNOWN: Code = Code::UNKNOWN;
    #[classattr]
    const INTERNAL: Code = Code::INTERNAL;
    #[classattr]
    const NOT_FOUND: Code = Code::NOT_FOUND;
    #[classattr]
    const INVALID_ARG: Code = Code::INVALID_ARG;
    #[classattr]
    const UNAVAILABLE: Code = Code::UNAVAILABLE;
    #[classattr]
    const UNSUPPORTED: Code = Code::UNSUPPORTED;
    #[classattr]
    const ALREADY_EXISTS: Code = Code::ALREADY_EXISTS;
    #[classattr]
    const CANCELLED: Code = Code::CANCELLED;
}

/// The answer to one request.
#[pyclass(frozen, module = "triton_python_backend_utils")]
#[derive(Debug)]
pub(crate) struct InferenceResponse {
    outputs: Vec<Py<Tensor>>,
    error: Option<Py<TritonError>>,
    parameters: Parameters,
}

impl InferenceResponse {
    /// Writes it into the answer of request `index`. Outputs that the client did not ask for are dropped.
    pub(crate) fn write(&self, py: Python<'_>, batch: &mut Batch<'_>, index: usize) -> PyResult<()> {
        if let Some(error) = &self.error {
            batch.respond_error(index, error.get().to_worker_error());
            return Ok(());
        }
        if let Err(error) = self.write_outputs(py, batch, index)? {
            batch.respond_error(index, error);
        }
        Ok(())
    }

    /// The outer error is the model's, the inner one the memory's or the harness's.
    fn write_outputs(
        &self,
        py: Python<'_>,
        batch: &mut Batch<'_>,
        index: usize,
    ) -> PyResult<Result<(), WorkerError>> {
        // A response without outputs is an answer too.
        let mut done = batch.complete(index);
        for tensor in &self.outputs {
            let tensor = tensor.get();
            let name = tensor.name_text(py)?;
            if done.is_err() || !batch.requests().get(index).is_some_and(|request| request.wants(&name)) {
                continue;
            }
            let kind = (tensor.datatype(), tensor.dims());
            done = batch
                .output_with_len(index, &name, kind, tensor.byte_len())
                .map(|target| tensor.copy_to(target));
        }
        for (name, value) in &self.parameters {
            done = done.and_then(|()| batch.set_parameter(index, name, value.clone()));
        }
        Ok(done)
    }
}

#[pymethods]
impl InferenceResponse {
    #[new]
    #[pyo3(signature = (output_tensors=None, error=None, parameters=None))]
    fn new(
        output_tensors: Option<Bound<'_, PyAny>>,
        error: Option<Py<TritonError>>,
        parameters: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut outputs = Vec::new();
        if let Some(tensors) = output_tensors {
            for tensor in tensors.try_iter()? {
                let tensor = tensor?;
                if tensor.is_none() {
                    return Err(TritonModelException::new_err(
                        "Output tensor for inference response should not be empty.",
                    ));
                }
                outputs.push(tensor.cast_into::<Tensor>().map_err(PyErr::from)?.unbind());
            }
        }
        Ok(Self { outputs, error, parameters: parameters::from_dict(parameters.as_ref())? })
    }

    /// The tensors, in a new list.
    fn output_tensors(&self, py: Python<'_>) -> Vec<Py<Tensor>> {
        self.outputs.iter().map(|tensor| tensor.clone_ref(py)).collect()
    }

    /// Whether it is a failure.
    fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// The failure, or None.
    fn error(&self, py: Python<'_>) -> Option<Py<TritonError>> {
        self.error.as_ref().map(|error| error.clone_ref(py))
    }

    /// The parameters as JSON text.
    fn parameters(&self) -> String {
        parameters::to_json(&self.parameters)
    }
}
