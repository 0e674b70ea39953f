//! BYTES tensors as numpy sees them: arrays of Python objects.
//!
//! The bytes are parsed from a private copy, since the supervisor writes to shared memory.

use crate::{dtype::Numpy, exceptions::TritonModelException};
use nereid_ipc::elements;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyList, PyString},
};

/// An array of `bytes` objects from the wire form.
pub(crate) fn decode<'py>(py: Python<'py>, wire: &[u8], shape: &[i64]) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for element in elements::elements(wire) {
        let element = element
            .map_err(|error| TritonModelException::new_err(format!("Invalid bytes tensor data: {error}")))?;
        list.append(PyBytes::new(py, element))?;
    }
    Numpy::get(py)?.objects(py, list.into_any(), shape)
}

/// The wire form of an array of strings: `bytes` as they are, anything else as its text in UTF-8.
pub(crate) fn encode(array: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let flat = array.call_method0("ravel")?.call_method0("tolist")?.cast_into::<PyList>()?;
    let mut wire = Vec::new();
    for element in flat.iter() {
        let pushed = if let Ok(bytes) = element.cast::<PyBytes>() {
            elements::push(&mut wire, bytes.as_bytes())
        } else if let Ok(text) = element.cast::<PyString>() {
            elements::push(&mut wire, text.to_cow()?.as_bytes())
        } else {
            elements::push(&mut wire, element.str()?.to_cow()?.as_bytes())
        };
        pushed.map_err(|error| TritonModelException::new_err(error.to_string()))?;
    }
    Ok(wire)
}
