//! `Tensor`: what goes into a model and comes out of it.
//!
//! An input looks at memory that the supervisor wrote (or a copy, see `retention.rs`), a model's own tensor at its numpy
//! array, one from another framework at that framework's memory. None is copied before it is written to the answer.

use crate::{
    dtype::{self, Numpy},
    exceptions::TritonModelException,
    ffi::{
        dlpack::{self, DEVICE_CPU, DEVICE_CUDA_HOST, Managed},
        memory::{self, Memory},
    },
    strings,
};
use nereid_ipc::DataType;
use pyo3::{
    buffer::PyUntypedBuffer,
    exceptions::{PyBufferError, PyTypeError},
    prelude::*,
    sync::PyOnceLock,
    types::{PyCapsule, PyString},
};

/// A named tensor in main memory.
#[pyclass(frozen, module = "triton_python_backend_utils")]
pub(crate) struct Tensor {
    name: Py<PyString>,
    datatype: DataType,
    shape: Vec<i64>,
    data: Data,
}

enum Data {
    /// Bytes in wire form, and the array over them or made from them, once somebody asked for it.
    Memory { memory: Py<Memory>, array: PyOnceLock<Py<PyAny>> },
    /// A C-contiguous array of the model's, and its memory.
    Array { array: Py<PyAny>, buffer: PyUntypedBuffer },
    /// An array of strings, and its wire form.
    Strings { array: Py<PyAny>, wire: Vec<u8> },
}

impl Tensor {
    /// A tensor whose bytes are there already.
    pub(crate) fn over(
        py: Python<'_>,
        name: &str,
        (datatype, shape): (DataType, &[i64]),
        memory: Memory,
    ) -> PyResult<Self> {
        let data = Data::Memory { memory: Py::new(py, memory)?, array: PyOnceLock::new() };
        Ok(Self { name: PyString::new(py, name).unbind(), datatype, shape: shape.to_vec(), data })
    }

    pub(crate) fn name_text<'a>(&'a self, py: Python<'a>) -> PyResult<std::borrow::Cow<'a, str>> {
        self.name.bind(py).to_cow()
    }

    pub(crate) fn datatype(&self) -> DataType {
        self.datatype
    }

    pub(crate) fn dims(&self) -> &[i64] {
        &self.shape
    }

    /// The length of its wire form.
    pub(crate) fn byte_len(&self) -> usize {
        match &self.data {
            Data::Memory { memory, .. } => memory.get().len(),
            Data::Array { buffer, .. } => buffer.len_bytes(),
            Data::Strings { wire, .. } => wire.len(),
        }
    }

    /// Writes its wire form, of which `target` has the length.
    pub(crate) fn copy_to(&self, target: &mut [u8]) {
        match &self.data {
            Data::Memory { memory, .. } => memory.get().copy_to(target),
            Data::Array { buffer, .. } => memory::copy_buffer(buffer, target),
            Data::Strings { wire, .. } => target.copy_from_slice(wire),
        }
    }

    fn from_managed(py: Python<'_>, name: Py<PyString>, managed: Managed) -> PyResult<Self> {
        let element = managed.element();
        let datatype = dtype::of_dlpack(element).ok_or_else(|| {
            TritonModelException::new_err(format!(
                "DLPack elements of code {}, {} bits and {} lanes have no Triton data type",
                element.code, element.bits, element.lanes
            ))
        })?;
        let shape = managed.shape().to_vec();
        let memory = Py::new(py, Memory::managed(managed))?;
        Ok(Self { name, datatype, shape, data: Data::Memory { memory, array: PyOnceLock::new() } })
    }

    fn export(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let tensor = slf.get();
        let element = dtype::to_dlpack(tensor.datatype).ok_or_else(|| {
            TritonModelException::new_err("DLPack does not have support for string tensors.")
        })?;
        let start = match &tensor.data {
            Data::Memory { memory, .. } => memory.get().start(),
            Data::Array { buffer, .. } => memory::buffer_start(buffer),
            Data::Strings { .. } => {
                return Err(TritonModelException::new_err("a string tensor has no elements"));
            }
        };
        dlpack::export(slf.as_any(), start, &tensor.shape, element)
    }
}

#[pymethods]
impl Tensor {
    #[new]
    fn new(name: Bound<'_, PyString>, numpy_array: Bound<'_, PyAny>) -> PyResult<Self> {
        check_name(&name)?;
        let py = name.py();
        let numpy = Numpy::get(py)?;
        if !numpy.is_array(&numpy_array)? {
            return Err(PyTypeError::new_err(format!(
                "Tensor '{name}' needs a numpy array, found {}",
                numpy_array.get_type()
            )));
        }
        let unsupported = || {
            let found = numpy_array.getattr("dtype").map(|dtype| dtype.to_string()).unwrap_or_default();
            TritonModelException::new_err(format!(
                "NumPy dtype is not supported. Tensor '{name}' has {found}."
            ))
        };
        // A scalar has no buffer that tells its shape.
        let is_scalar = numpy_array.getattr("ndim")?.extract::<usize>()? == 0;
        let viewed = if is_scalar { numpy_array.call_method1("reshape", (1,))? } else { numpy_array.clone() };
        let mut buffer = PyUntypedBuffer::get(&viewed).map_err(|_| unsupported())?;
        let datatype = dtype::of_buffer(&buffer).ok_or_else(unsupported)?;
        let dims = if is_scalar { &[] } else { buffer.shape() };
        let shape = dims.iter().map(|dim| i64::try_from(*dim)).collect::<Result<_, _>>()?;
        let data = if datatype == DataType::Bytes {
            Data::Strings { wire: strings::encode(&numpy_array)?, array: numpy_array.unbind() }
        } else if buffer.is_c_contiguous() {
            Data::Array { array: numpy_array.clone().unbind(), buffer }
        } else {
            let array = numpy.contiguous(&numpy_array)?;
            buffer = PyUntypedBuffer::get(&array)?;
            Data::Array { array: array.unbind(), buffer }
        };
        Ok(Self { name: name.unbind(), datatype, shape, data })
    }

    /// The tensor's name.
    fn name(&self, py: Python<'_>) -> Py<PyString> {
        self.name.clone_ref(py)
    }

    /// The elements as a numpy array, without a copy; strings as `bytes` objects.
    fn as_numpy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (memory, array) = match &self.data {
            Data::Array { array, .. } | Data::Strings { array, .. } => return Ok(array.clone_ref(py)),
            Data::Memory { memory, array } => (memory, array),
        };
        if self.datatype == DataType::Bf16 {
            return Err(TritonModelException::new_err(
                "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead.",
            ));
        }
        let array = array.get_or_try_init(py, || {
            let made = if self.datatype == DataType::Bytes {
                strings::decode(py, &memory.get().to_vec(), &self.shape)?
            } else {
                Numpy::get(py)?.over(py, (self.datatype, &self.shape), memory.bind(py).as_any())?
            };
            PyResult::Ok(made.unbind())
        })?;
        Ok(array.clone_ref(py))
    }

    /// Triton's number of the data type.
    fn triton_dtype(&self) -> u32 {
        self.datatype.number()
    }

    /// The shape as a list.
    fn shape(&self) -> Vec<i64> {
        self.shape.clone()
    }

    /// Whether the tensor is in main memory; so far all are.
    fn is_cpu(&self) -> bool {
        true
    }

    /// A DLPack capsule over the tensor's memory.
    fn to_dlpack(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::export(slf)
    }

    /// A tensor over the memory of a DLPack capsule or of an object that can make one.
    #[staticmethod]
    fn from_dlpack(name: Bound<'_, PyString>, tensor: Bound<'_, PyAny>) -> PyResult<Self> {
        check_name(&name)?;
        let py = name.py();
        if tensor.is_instance_of::<PyCapsule>() {
            return Self::from_managed(py, name.unbind(), Managed::take(&tensor)?);
        }
        if !tensor.hasattr("__dlpack__")? || !tensor.hasattr("__dlpack_device__")? {
            return Err(TritonModelException::new_err(
                "Provided tensor is not supported. Tensor must be a DLPack capsule or have `__dlpack__` and \
                 `__dlpack_device__` attributes",
            ));
        }
        let (device, _id): (i32, i64) = tensor.call_method0("__dlpack_device__")?.extract()?;
        if ![DEVICE_CPU, DEVICE_CUDA_HOST].contains(&device) {
            return Err(TritonModelException::new_err(format!(
                "DLDevice type {device} is not support by Python backend. Move tensor '{name}' to the CPU first."
            )));
        }
        let capsule = tensor.call_method0("__dlpack__")?;
        Self::from_managed(py, name.unbind(), Managed::take(&capsule)?)
    }

    /// As other frameworks ask for it.
    #[pyo3(signature = (stream=None, *, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        slf: &Bound<'_, Self>,
        stream: Option<Bound<'_, PyAny>>,
        max_version: Option<Bound<'_, PyAny>>,
        dl_device: Option<(i32, i64)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        // Nothing is computed on a stream, and the unversioned form is valid whatever version is asked for.
        let (_, _) = (stream, max_version);
        if copy == Some(true) || dl_device.is_some_and(|(kind, _)| kind != DEVICE_CPU) {
            return Err(PyBufferError::new_err("the tensor is only available where it is, in main memory"));
        }
        Self::export(slf)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (DEVICE_CPU, 0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Tensor '{}' {} {:?}>", self.name_text(py)?, self.datatype, self.shape))
    }
}

fn check_name(name: &Bound<'_, PyString>) -> PyResult<()> {
    if name.is_empty()? {
        return Err(TritonModelException::new_err("Tensor name cannot be an empty string."));
    }
    Ok(())
}
