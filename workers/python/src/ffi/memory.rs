//! `Memory`: bytes that Python objects may look into, by the buffer protocol, for as long as they like.
//!
//! numpy keeps the object whose buffer it uses, not the buffer's export, so the rule is by object: the bytes live and
//! keep their contents while the `Memory` lives. What keeps them is held beside the pointer.
//!
//! Deliberately not here: which inputs are lent and which are copied (`retention.rs`).
#![expect(unsafe_code, reason = "the buffer protocol hands out pointers")]

use crate::ffi::{dlpack::Managed, lent::Lent};
use pyo3::{ffi, prelude::*};
use std::{
    ffi::c_int,
    ptr::{self, NonNull},
    sync::Arc,
};

/// A run of bytes with its owner.
#[pyclass(frozen, module = "nereid_worker._native")]
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    len: usize,
    owner: Owner,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held for their drops")]
enum Owner {
    /// A run of an input segment, ours until the batch ends and private memory from then on.
    Lent(Arc<Lent>),
    /// Our own copy, freed with this object. `token` tells whether it outlives its batch.
    Copy { bytes: NonNull<[u8]>, token: Option<Arc<()>> },
    /// Another framework's tensor.
    Managed(Managed),
}

// SAFETY: the bytes belong to no thread. Python code that uses them from several threads races as it does on any array;
// Rust code reads them through `to_vec` and `copy_to` only, byte by byte copies that are right whatever they contain.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Lends a run of an input segment.
    pub(crate) fn lend(lent: Arc<Lent>) -> Self {
        Self { start: lent.start(), len: lent.len(), owner: Owner::Lent(lent) }
    }

    /// Takes over a copy. Allocators align any copy that matters for every element type.
    pub(crate) fn copy(bytes: Vec<u8>, token: Option<Arc<()>>) -> Self {
        let bytes = NonNull::from(Box::leak(bytes.into_boxed_slice()));
        Self { start: bytes.cast(), len: bytes.len(), owner: Owner::Copy { bytes, token } }
    }

    /// Takes over the bytes of another framework's tensor.
    pub(crate) fn managed(managed: Managed) -> Self {
        let (start, len) = managed.bytes();
        Self { start, len, owner: Owner::Managed(managed) }
    }

    /// The first byte; for exports only, which hold this object.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A private copy, for whoever parses the bytes: they may change under a reader.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        self.copy_to(&mut bytes);
        bytes
    }

    /// Copies the bytes out; as many as both have.
    pub(crate) fn copy_to(&self, target: &mut [u8]) {
        copy_out(self.start, self.len, target);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Owner::Copy { bytes, .. } = self.owner {
            // SAFETY: leaked in `copy`, and no export is left: each holds this object.
            drop(unsafe { Box::from_raw(bytes.as_ptr()) });
        }
    }
}

#[pymethods]
impl Memory {
    fn __len__(&self) -> usize {
        self.len
    }

    // SAFETY: called by the interpreter only, with a view to fill in.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let memory = slf.get();
        let len = ffi::Py_ssize_t::try_from(memory.len)?;
        // SAFETY: the view is the caller's to fill; it gets a reference to this object, which keeps the bytes. Writable:
        // a model may work in place, and nobody reads that back.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), memory.start.as_ptr().cast(), len, 0, flags)
        };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Copies from memory that other threads may be writing; as many bytes as both have.
fn copy_out(start: NonNull<u8>, len: usize, target: &mut [u8]) {
    let len = len.min(target.len());
    // SAFETY: the caller's object holds `len` bytes at `start`. The target is exclusively ours, and may lie in an output
    // segment, never within the source. Not a slice of the source: its bytes may change meanwhile.
    unsafe { ptr::copy(start.as_ptr(), target.as_mut_ptr(), len) };
}

/// Copies a C-contiguous buffer of Python's out; as many bytes as both have.
pub(crate) fn copy_buffer(buffer: &pyo3::buffer::PyUntypedBuffer, target: &mut [u8]) {
    if let Some(start) = NonNull::new(buffer.buf_ptr().cast::<u8>()) {
        copy_out(start, buffer.len_bytes(), target);
    }
}

/// The pointer of a buffer, for a DLPack export that holds the buffer's owner.
pub(crate) fn buffer_start(buffer: &pyo3::buffer::PyUntypedBuffer) -> NonNull<u8> {
    NonNull::new(buffer.buf_ptr().cast()).unwrap_or_else(NonNull::dangling)
}
