//! A session: one model, read, optimised and ready to run; and what it says of its inputs and outputs.
//!
//! Deliberately not here: whether a model configuration agrees with it (`crate::check`), and running (`super::run`).

use super::{Api, OrtError, options::SessionOptions, runtime::Runtime, text_of};
use ort_sys::{OrtSession, OrtStatusPtr, OrtTensorTypeAndShapeInfo, OrtTypeInfo};
use std::{
    ffi::{CString, c_char},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    ptr,
};

/// More dimensions than any tensor has; a count above it is taken for a fault of the library.
const RANK_MAX: usize = 256;

/// What an input or output carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A tensor with this element type, a number of the library's.
    Tensor(Element),
    /// A sequence, a map, …; the library's number.
    Other(i32),
}

/// The library's number of an element type; may be one that these bindings do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element(pub(crate) i32);

/// One input, output or overridable initialiser.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(super) raw_name: CString,
    pub(crate) kind: Kind,
    /// -1 where a size is not fixed.
    pub(crate) shape: Vec<i64>,
    /// One for each dimension: the name that the model gives to a size that is not fixed, or empty.
    pub(crate) symbols: Vec<String>,
}

/// A model that can be run.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) runtime: &'static Runtime,
    pub(super) raw: *mut OrtSession,
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
    /// How many of `inputs`, from the front, are real inputs; after them come the overridable initialisers.
    required: usize,
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again: values of a run end before the session that they borrow.
        unsafe { (self.runtime.api.0.ReleaseSession)(self.raw) }
    }
}

type CountPorts = unsafe extern "system" fn(*const OrtSession, *mut usize) -> OrtStatusPtr;
type NamePort = unsafe extern "system" fn(
    *const OrtSession,
    usize,
    *mut ort_sys::OrtAllocator,
    *mut *mut c_char,
) -> OrtStatusPtr;
type TypePort = unsafe extern "system" fn(*const OrtSession, usize, *mut *mut OrtTypeInfo) -> OrtStatusPtr;

impl Session {
    /// Reads and optimises a model file.
    pub(crate) fn open(file: &Path, options: &SessionOptions) -> Result<Self, OrtError> {
        let runtime = options.runtime;
        let file = CString::new(file.as_os_str().as_bytes())
            .map_err(|_| OrtError::invalid(format!("'{}' has a NUL inside", file.display())))?;
        let mut raw = ptr::null_mut();
        // SAFETY: the environment lives for ever, the options are copied, the path is a C string.
        let status =
            unsafe { (runtime.api.0.CreateSession)(runtime.env, file.as_ptr(), options.raw, &raw mut raw) };
        runtime.api.check(status)?;
        let mut session = Self { runtime, raw, inputs: Vec::new(), outputs: Vec::new(), required: 0 };
        let table = runtime.api.0;
        session.inputs = session.ports(
            table.SessionGetInputCount,
            table.SessionGetInputName,
            table.SessionGetInputTypeInfo,
        )?;
        session.required = session.inputs.len();
        let initialisers = session.ports(
            table.SessionGetOverridableInitializerCount,
            table.SessionGetOverridableInitializerName,
            table.SessionGetOverridableInitializerTypeInfo,
        )?;
        session.inputs.extend(initialisers);
        session.outputs = session.ports(
            table.SessionGetOutputCount,
            table.SessionGetOutputName,
            table.SessionGetOutputTypeInfo,
        )?;
        Ok(session)
    }

    /// The inputs that every run needs.
    pub(crate) fn inputs(&self) -> &[Port] {
        &self.inputs[..self.required]
    }

    /// The inputs, and after them the initialisers that a run may override.
    pub(crate) fn all_inputs(&self) -> &[Port] {
        &self.inputs
    }

    pub(crate) fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    pub(crate) fn runtime(&self) -> &'static Runtime {
        self.runtime
    }

    fn ports(&self, count: CountPorts, name: NamePort, kind: TypePort) -> Result<Vec<Port>, OrtError> {
        let api = self.runtime.api;
        let mut ports = 0;
        // SAFETY: the session is open; writes one number.
        api.check(unsafe { count(self.raw, &raw mut ports) })?;
        (0..ports).map(|index| self.port(index, name, kind)).collect()
    }

    fn port(&self, index: usize, name: NamePort, kind: TypePort) -> Result<Port, OrtError> {
        let (api, allocator) = (self.runtime.api, self.runtime.allocator);
        let mut raw_name = ptr::null_mut();
        // SAFETY: the session is open and the index below its count; writes one pointer.
        api.check(unsafe { name(self.raw, index, allocator, &raw mut raw_name) })?;
        let name = text_of(raw_name);
        // SAFETY: the name came from this allocator and is not used again.
        api.check(unsafe { (api.0.AllocatorFree)(allocator, raw_name.cast()) })?;
        let mut info = ptr::null_mut();
        // SAFETY: as for the name.
        api.check(unsafe { kind(self.raw, index, &raw mut info) })?;
        let described = describe(api, info);
        // SAFETY: ours, and not used again.
        unsafe { (api.0.ReleaseTypeInfo)(info) };
        let (kind, shape, symbols) = described?;
        // A name that came as a C string has no NUL inside.
        let raw_name = super::c_string(&name)?;
        Ok(Port { name, raw_name, kind, shape, symbols })
    }
}

type Described = (Kind, Vec<i64>, Vec<String>);

fn describe(api: Api, info: *const OrtTypeInfo) -> Result<Described, OrtError> {
    let mut kind: i32 = 0;
    // SAFETY: the library writes a C enum, an `i32`, which is read as such.
    api.check(unsafe { (api.0.GetOnnxTypeFromTypeInfo)(info, (&raw mut kind).cast()) })?;
    let mut tensor = ptr::null();
    // SAFETY: writes one pointer: into `info`, or null where it is no tensor.
    api.check(unsafe { (api.0.CastTypeInfoToTensorInfo)(info, &raw mut tensor) })?;
    if kind != ort_sys::ONNXType::ONNX_TYPE_TENSOR as i32 || tensor.is_null() {
        return Ok((Kind::Other(kind), Vec::new(), Vec::new()));
    }
    let mut shape = Vec::new();
    let element = read_shape(api, tensor, &mut shape)?;
    let mut symbols = vec![ptr::null(); shape.len()];
    // SAFETY: there is room for as many pointers as there are dimensions.
    api.check(unsafe { (api.0.GetSymbolicDimensions)(tensor, symbols.as_mut_ptr(), symbols.len()) })?;
    Ok((Kind::Tensor(element), shape, symbols.into_iter().map(text_of).collect()))
}

/// Reads the element type and, into `shape`, the dimensions.
pub(super) fn read_shape(
    api: Api,
    tensor: *const OrtTensorTypeAndShapeInfo,
    shape: &mut Vec<i64>,
) -> Result<Element, OrtError> {
    let mut element: i32 = 0;
    // SAFETY: the library writes a C enum, an `i32`, which is read as such.
    api.check(unsafe { (api.0.GetTensorElementType)(tensor, (&raw mut element).cast()) })?;
    let mut rank = 0;
    // SAFETY: writes one number.
    api.check(unsafe { (api.0.GetDimensionsCount)(tensor, &raw mut rank) })?;
    if rank > RANK_MAX {
        return Err(OrtError::invalid(format!(
            "a tensor has {rank} dimensions; at most {RANK_MAX} are possible"
        )));
    }
    shape.clear();
    shape.resize(rank, 0);
    // SAFETY: there is room for `rank` numbers.
    api.check(unsafe { (api.0.GetDimensions)(tensor, shape.as_mut_ptr(), rank) })?;
    Ok(Element(element))
}
