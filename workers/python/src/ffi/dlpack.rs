//! Tensors from and to other frameworks by DLPack: C structures in a capsule, with a function that frees them.
//!
//! The unversioned form, which every framework reads. Main memory only. Deliberately not here: data types
//! (`dtype.rs`) and the errors' wording beyond what the structures themselves decide (`tensor.rs`).
#![expect(unsafe_code, reason = "DLPack is a C interface")]

use crate::exceptions::TritonModelException;
use pyo3::{ffi, prelude::*};
use std::{
    ffi::{CStr, c_void},
    ptr::{self, NonNull},
    slice,
};

/// Main memory.
pub(crate) const DEVICE_CPU: i32 = 1;
/// Main memory, pinned by CUDA.
pub(crate) const DEVICE_CUDA_HOST: i32 = 3;

const NAME: &CStr = c"dltensor";
const USED_NAME: &CStr = c"used_dltensor";
/// More dimensions than any framework has.
const RANK_MAX: usize = 64;

/// What an element is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Debug)]
struct DlTensor {
    data: *mut c_void,
    device: Device,
    rank: i32,
    element: ElementType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
#[derive(Debug)]
struct DlManagedTensor {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

// --- From another framework ---

/// A tensor that another framework made and that is ours to free.
#[derive(Debug)]
pub(crate) struct Managed {
    tensor: NonNull<DlManagedTensor>,
    element: ElementType,
    shape: Vec<i64>,
    start: NonNull<u8>,
    len: usize,
}

impl Managed {
    /// Takes the tensor out of a capsule, which cannot be used again.
    pub(crate) fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = capsule.py();
        // SAFETY: the interpreter checks that it is a capsule of that name.
        let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()) };
        let Some(tensor) = NonNull::new(pointer.cast::<DlManagedTensor>()) else {
            return Err(PyErr::fetch(py));
        };
        // SAFETY: a capsule of that name holds such a structure, by the protocol, and it is not used yet.
        let managed = unsafe { Self::read(tensor) }?;
        // SAFETY: as above; the name says that the capsule's destructor has nothing to free any more.
        let renamed = unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), USED_NAME.as_ptr()) };
        if renamed != 0 {
            // The capsule would free it as well.
            std::mem::forget(managed);
            return Err(PyErr::fetch(py));
        }
        Ok(managed)
    }

    /// Reads and checks the structure. On an error the capsule still owns it.
    ///
    /// # Safety
    /// `tensor` points at a structure that another framework has filled in.
    unsafe fn read(tensor: NonNull<DlManagedTensor>) -> PyResult<Self> {
        // SAFETY: says the caller.
        let raw = unsafe { &tensor.as_ref().tensor };
        if ![DEVICE_CPU, DEVICE_CUDA_HOST].contains(&raw.device.kind) {
            return Err(TritonModelException::new_err(format!(
                "DLDevice type {} is not support by Python backend.",
                raw.device.kind
            )));
        }
        let rank = usize::try_from(raw.rank).ok().filter(|rank| *rank <= RANK_MAX);
        let rank = rank.ok_or_else(|| {
            TritonModelException::new_err(format!(
                "DLPack tensor of {} dimensions; at most {RANK_MAX}",
                raw.rank
            ))
        })?;
        // SAFETY: the protocol says that `shape` has `rank` numbers.
        let shape = unsafe { numbers(raw.shape, rank) }.unwrap_or_default().to_vec();
        // SAFETY: and so has `strides`, if there are any.
        let strides = unsafe { numbers(raw.strides, rank) };
        if strides.is_some_and(|strides| !is_c_order(&shape, strides)) {
            return Err(TritonModelException::new_err(
                "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order are \
                 supported.",
            ));
        }
        let size = usize::from(raw.element.bits).div_ceil(8) * usize::from(raw.element.lanes);
        let len = shape.iter().try_fold(size, |len, dim| len.checked_mul(usize::try_from(*dim).ok()?));
        let offset = usize::try_from(raw.byte_offset).ok();
        let (Some(len), Some(offset)) = (len, offset) else {
            return Err(TritonModelException::new_err(format!(
                "DLPack tensor of an impossible shape {shape:?}"
            )));
        };
        let start = match NonNull::new(raw.data.cast::<u8>()) {
            // SAFETY: the protocol says that the elements begin there.
            Some(data) => unsafe { data.add(offset) },
            None => NonNull::dangling(),
        };
        Ok(Self { tensor, element: raw.element, shape, start, len })
    }

    pub(crate) fn element(&self) -> ElementType {
        self.element
    }

    pub(crate) fn shape(&self) -> &[i64] {
        &self.shape
    }

    pub(crate) fn bytes(&self) -> (NonNull<u8>, usize) {
        (self.start, self.len)
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: ours since `take`.
        if let Some(deleter) = unsafe { self.tensor.as_ref() }.deleter {
            // SAFETY: called once, as the protocol asks of the consumer.
            unsafe { deleter(self.tensor.as_ptr()) };
        }
    }
}

unsafe fn numbers<'a>(start: *const i64, count: usize) -> Option<&'a [i64]> {
    // SAFETY: says the caller.
    (!start.is_null()).then(|| unsafe { slice::from_raw_parts(start, count) })
}

fn is_c_order(shape: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1_i64;
    let mut ordered = true;
    for (dim, stride) in shape.iter().zip(strides).rev() {
        if *dim != 1 {
            ordered &= *stride == expected;
            expected = expected.saturating_mul(*dim);
        }
    }
    // Without elements there is no order to keep.
    ordered || shape.contains(&0)
}

// --- To another framework ---

/// What an exported capsule owns.
struct Export {
    managed: DlManagedTensor,
    shape: Vec<i64>,
    #[expect(dead_code, reason = "keeps the bytes until the consumer is done")]
    owner: Py<PyAny>,
}

/// A capsule over `start`, whose bytes live as long as `owner`.
pub(crate) fn export(
    owner: &Bound<'_, PyAny>,
    start: NonNull<u8>,
    shape: &[i64],
    element: ElementType,
) -> PyResult<Py<PyAny>> {
    let py = owner.py();
    let mut export = Box::new(Export {
        managed: DlManagedTensor {
            tensor: DlTensor {
                data: start.as_ptr().cast(),
                device: Device { kind: DEVICE_CPU, id: 0 },
                rank: i32::try_from(shape.len())?,
                element,
                shape: ptr::null_mut(),
                strides: ptr::null_mut(),
                byte_offset: 0,
            },
            context: ptr::null_mut(),
            deleter: Some(free_export),
        },
        shape: shape.to_vec(),
        owner: owner.clone().unbind(),
    });
    export.managed.tensor.shape = export.shape.as_mut_ptr();
    let export = Box::into_raw(export);
    // SAFETY: the box is alive. Nothing is read: only the field's address is taken.
    let managed = unsafe { &raw mut (*export).managed };
    // SAFETY: remembers the box, for whoever frees it.
    unsafe { (*managed).context = export.cast() };
    // SAFETY: the pointer is not null, the name is static, and the destructor fits both.
    let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), NAME.as_ptr(), Some(free_capsule)) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(Bound::unbind).inspect_err(|_| {
        // SAFETY: no capsule has it.
        unsafe { free_export(managed) };
    })
}

unsafe extern "C" fn free_export(managed: *mut DlManagedTensor) {
    // SAFETY: called once by the consumer or by `free_capsule`, with what `export` made.
    let context = unsafe { (*managed).context };
    // The consumer may call from a thread that does not hold the interpreter.
    Python::attach(|_| {
        // SAFETY: `context` is the box that `export` leaked.
        drop(unsafe { Box::from_raw(context.cast::<Export>()) });
    });
}

unsafe extern "C" fn free_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: called by the interpreter with the capsule that dies. One that was consumed has another name.
    if unsafe { ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) } == 0 {
        return;
    }
    // SAFETY: just checked.
    let managed = unsafe { ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()) };
    // SAFETY: nobody has consumed it, so it is ours to free.
    unsafe { free_export(managed.cast()) };
}
