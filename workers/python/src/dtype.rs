//! Element types: Triton's, numpy's, and DLPack's.
//!
//! numpy is used through its Python face and the buffer protocol: one binary serves every version of it.

use crate::{exceptions::TritonModelException, ffi::dlpack::ElementType};
use nereid_ipc::DataType;
use pyo3::{
    buffer::PyUntypedBuffer,
    prelude::*,
    sync::PyOnceLock,
    types::{PyTuple, PyType},
};

/// What is needed of numpy over and over.
#[derive(Debug)]
pub(crate) struct Numpy {
    ndarray: Py<PyType>,
    array: Py<PyAny>,
    contiguous: Py<PyAny>,
    /// By Triton's number.
    dtypes: Vec<Option<Py<PyAny>>>,
}

static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();

/// numpy's name of a type; None where it has none.
fn numpy_name(datatype: DataType) -> Option<&'static str> {
    Some(match datatype {
        DataType::Bool => "bool",
        DataType::Uint8 => "uint8",
        DataType::Uint16 => "uint16",
        DataType::Uint32 => "uint32",
        DataType::Uint64 => "uint64",
        DataType::Int8 => "int8",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::Fp16 => "float16",
        DataType::Fp32 => "float32",
        DataType::Fp64 => "float64",
        DataType::Bytes => "object",
        DataType::Bf16 => return None,
    })
}

impl Numpy {
    pub(crate) fn get(py: Python<'_>) -> PyResult<&'static Self> {
        NUMPY.get_or_try_init(py, || {
            let numpy = py.import("numpy")?;
            let dtype = numpy.getattr("dtype")?;
            let mut dtypes = vec![None];
            for datatype in DataType::ALL {
                let found = numpy_name(datatype).map(|name| dtype.call1((name,)).map(Bound::unbind));
                dtypes.push(found.transpose()?);
            }
            Ok(Self {
                ndarray: numpy.getattr("ndarray")?.cast_into::<PyType>()?.unbind(),
                array: numpy.getattr("array")?.unbind(),
                contiguous: numpy.getattr("ascontiguousarray")?.unbind(),
                dtypes,
            })
        })
    }

    fn dtype(&self, datatype: DataType) -> PyResult<&Py<PyAny>> {
        let found =
            usize::try_from(datatype.number()).ok().and_then(|number| self.dtypes.get(number)?.as_ref());
        found.ok_or_else(|| TritonModelException::new_err(format!("{datatype} has no NumPy type")))
    }

    /// An array over `buffer`, without a copy.
    pub(crate) fn over<'py>(
        &self,
        py: Python<'py>,
        (datatype, shape): (DataType, &[i64]),
        buffer: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = PyTuple::new(py, shape)?;
        self.ndarray.bind(py).call1((shape, self.dtype(datatype)?, buffer))
    }

    /// An array of objects from a list.
    pub(crate) fn objects<'py>(
        &self,
        py: Python<'py>,
        elements: Bound<'py, PyAny>,
        shape: &[i64],
    ) -> PyResult<Bound<'py, PyAny>> {
        let flat = self.array.bind(py).call1((elements, self.dtype(DataType::Bytes)?))?;
        flat.call_method1("reshape", (PyTuple::new(py, shape)?,))
    }

    pub(crate) fn is_array(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        object.is_instance(self.ndarray.bind(object.py()).as_any())
    }

    /// The same elements in C order, next to each other.
    pub(crate) fn contiguous<'py>(&self, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.contiguous.bind(array.py()).call1((array,))
    }
}

/// The type of a buffer's elements; None when Triton has no such type.
pub(crate) fn of_buffer(buffer: &PyUntypedBuffer) -> Option<DataType> {
    let format = buffer.format().to_bytes();
    let native = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    let format = match format {
        [order, rest @ ..] if [b'@', b'=', native].contains(order) => rest,
        other => other,
    };
    let [kind] = format else {
        // Strings of a fixed length, such as `5s`.
        let digits = format.strip_suffix(b"s")?;
        return digits.iter().all(u8::is_ascii_digit).then_some(DataType::Bytes);
    };
    Some(match (kind, buffer.item_size()) {
        (b'?', 1) => DataType::Bool,
        (b'B', 1) => DataType::Uint8,
        (b'b', 1) => DataType::Int8,
        (b'H', 2) => DataType::Uint16,
        (b'h', 2) => DataType::Int16,
        (b'I' | b'L', 4) => DataType::Uint32,
        (b'i' | b'l', 4) => DataType::Int32,
        (b'L' | b'Q', 8) => DataType::Uint64,
        (b'l' | b'q', 8) => DataType::Int64,
        (b'e', 2) => DataType::Fp16,
        (b'f', 4) => DataType::Fp32,
        (b'd', 8) => DataType::Fp64,
        (b'O', _) | (b's', _) => DataType::Bytes,
        _ => return None,
    })
}

// DLPack's codes.
const CODE_INT: u8 = 0;
const CODE_UINT: u8 = 1;
const CODE_FLOAT: u8 = 2;
const CODE_BFLOAT: u8 = 4;
const CODE_BOOL: u8 = 6;

/// DLPack's element type; None for BYTES.
pub(crate) fn to_dlpack(datatype: DataType) -> Option<ElementType> {
    let code = match datatype {
        DataType::Bool => CODE_BOOL,
        DataType::Uint8 | DataType::Uint16 | DataType::Uint32 | DataType::Uint64 => CODE_UINT,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => CODE_INT,
        DataType::Fp16 | DataType::Fp32 | DataType::Fp64 => CODE_FLOAT,
        DataType::Bf16 => CODE_BFLOAT,
        DataType::Bytes => return None,
    };
    let bits = u8::try_from(datatype.byte_size()? * 8).ok()?;
    Some(ElementType { code, bits, lanes: 1 })
}

/// The type of DLPack elements; None when Triton has no such type.
pub(crate) fn of_dlpack(element: ElementType) -> Option<DataType> {
    DataType::ALL.into_iter().find(|datatype| to_dlpack(*datatype) == Some(element))
}
