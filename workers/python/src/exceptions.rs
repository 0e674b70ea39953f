//! The exception that models know, and the two ways in which a model can fail.

use pyo3::{create_exception, exceptions::PyException, prelude::*};

create_exception!(
    triton_python_backend_utils,
    TritonModelException,
    PyException,
    "An error of the worker's API or of the server."
);

/// Why a call into a model gave no result.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The model raised.
    Raised(PyErr),
    /// The model returned what it may not.
    Rule(String),
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// How Python prints the type of an object, as error texts show it.
pub(crate) fn type_text(object: &Bound<'_, PyAny>) -> String {
    object.get_type().to_string()
}
