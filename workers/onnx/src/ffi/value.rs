//! One tensor of the library's: over memory of somebody else's, made of strings, or made by a run and read here.
//!
//! Deliberately not here: who keeps the memory alive. `super::run` ties it to the life of the run.

use super::{OrtError, runtime::Runtime, session::Element, session::read_shape};
use ort_sys::{ONNXTensorElementDataType, OrtValue};
use std::{ffi::c_char, marker::PhantomData, mem::ManuallyDrop, ptr, slice};

/// The library's number for a tensor of strings.
pub(super) const STRING: Element = Element(8);

/// Owns an `OrtValue`, not the memory that it may point at.
#[derive(Debug)]
pub(super) struct Value {
    runtime: &'static Runtime,
    pub(super) raw: *mut OrtValue,
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { (self.runtime.api.0.ReleaseValue)(self.raw) }
    }
}

/// The bindings' enum for a number that is known to be one of theirs and of fixed size; with the size in bytes.
fn fixed(element: Element) -> Option<(ONNXTensorElementDataType, usize)> {
    use ONNXTensorElementDataType as T;
    Some(match element.0 {
        1 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4),
        2 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 1),
        3 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, 1),
        4 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 2),
        5 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 2),
        6 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 4),
        7 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 8),
        9 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 1),
        10 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 2),
        11 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 8),
        12 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, 4),
        13 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, 8),
        16 => (T::ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, 2),
        _ => return None,
    })
}

/// Bytes of a tensor, or why there is no such number.
pub(super) fn byte_len(size: usize, shape: &[i64]) -> Result<usize, OrtError> {
    let mut total = Some(size);
    for &dimension in shape {
        let dimension = usize::try_from(dimension).ok();
        total = total.zip(dimension).and_then(|(total, dimension)| total.checked_mul(dimension));
    }
    total.ok_or_else(|| OrtError::invalid(format!("a tensor of shape {shape:?} is impossible")))
}

fn check_len(size: usize, shape: &[i64], length: usize) -> Result<(), OrtError> {
    let needed = byte_len(size, shape)?;
    if needed == length {
        return Ok(());
    }
    Err(OrtError::invalid(format!(
        "a tensor of shape {shape:?} with {size} bytes an element takes {needed} bytes, not {length}"
    )))
}

impl Value {
    /// A tensor over `length` bytes at `memory`.
    ///
    /// # Safety
    /// The memory must stay valid, and free of conflicting access, for as long as the value is used in runs.
    pub(super) unsafe fn over(
        runtime: &'static Runtime,
        element: Element,
        shape: &[i64],
        memory: *mut u8,
        length: usize,
    ) -> Result<Self, OrtError> {
        let Some((number, size)) = fixed(element) else {
            return Err(OrtError::invalid(format!("element type {} has no fixed size", element.0)));
        };
        check_len(size, shape, length)?;
        // An empty slice may point anywhere, and nobody reads it.
        let memory = if length == 0 { ptr::NonNull::<u64>::dangling().as_ptr().cast() } else { memory };
        if !memory.addr().is_multiple_of(size) {
            return Err(OrtError::invalid(format!("tensor memory is not aligned to {size} bytes")));
        }
        let mut raw = ptr::null_mut();
        // SAFETY: the shape is read during the call; the memory has the length that the shape needs, the alignment
        // that the element type needs, and, by this function's contract, the life that the value needs.
        let status = unsafe {
            (runtime.api.0.CreateTensorWithDataAsOrtValue)(
                runtime.host_memory,
                memory.cast(),
                length,
                shape.as_ptr(),
                shape.len(),
                number,
                &raw mut raw,
            )
        };
        runtime.api.check(status)?;
        Ok(Self { runtime, raw })
    }

    /// Whether the elements lie where such elements may; memory without elements always does.
    pub(super) fn is_aligned(element: Element, memory: &[u8]) -> bool {
        memory.is_empty()
            || fixed(element).is_none_or(|(_, size)| memory.as_ptr().addr().is_multiple_of(size))
    }

    /// A tensor in memory of the library's own, with these bytes.
    pub(super) fn copied(
        runtime: &'static Runtime,
        element: Element,
        shape: &[i64],
        bytes: &[u8],
    ) -> Result<Self, OrtError> {
        let api = runtime.api;
        let Some((number, size)) = fixed(element) else {
            return Err(OrtError::invalid(format!("element type {} has no fixed size", element.0)));
        };
        check_len(size, shape, bytes.len())?;
        let mut raw = ptr::null_mut();
        // SAFETY: the default allocator lives for ever; the shape is read during the call.
        let status = unsafe {
            (api.0.CreateTensorAsOrtValue)(
                runtime.allocator,
                shape.as_ptr(),
                shape.len(),
                number,
                &raw mut raw,
            )
        };
        api.check(status)?;
        let value = Self { runtime, raw };
        let mut memory = ptr::null_mut();
        // SAFETY: writes one pointer.
        api.check(unsafe { (api.0.GetTensorMutableData)(value.raw, &raw mut memory) })?;
        // SAFETY: the library has just allocated as many bytes as type and shape need, which is what there are.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.cast(), bytes.len()) };
        Ok(value)
    }

    /// A tensor of strings, which the library owns. There must be as many elements as the shape says.
    pub(super) fn of_strings<'a>(
        runtime: &'static Runtime,
        shape: &[i64],
        elements: impl Iterator<Item = Result<&'a [u8], OrtError>>,
    ) -> Result<Self, OrtError> {
        let api = runtime.api;
        let count = byte_len(1, shape)?;
        let mut raw = ptr::null_mut();
        // SAFETY: the default allocator lives for ever; the shape is read during the call.
        let status = unsafe {
            (api.0.CreateTensorAsOrtValue)(
                runtime.allocator,
                shape.as_ptr(),
                shape.len(),
                ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
                &raw mut raw,
            )
        };
        api.check(status)?;
        let value = Self { runtime, raw };
        let mut filled = 0;
        for element in elements {
            let element = element?;
            if filled == count {
                return Err(OrtError::invalid(format!(
                    "more than {count} string elements for shape {shape:?}"
                )));
            }
            value.set_string(filled, element)?;
            filled += 1;
        }
        if filled != count {
            return Err(OrtError::invalid(format!("{filled} string elements for shape {shape:?}")));
        }
        Ok(value)
    }

    /// Sets one element; unlike the library's call for C strings this keeps NULs.
    fn set_string(&self, index: usize, text: &[u8]) -> Result<(), OrtError> {
        let api = self.runtime.api;
        let mut buffer: *mut c_char = ptr::null_mut();
        // SAFETY: a tensor of strings with more than `index` elements; writes one pointer.
        let status = unsafe {
            (api.0.GetResizedStringTensorElementBuffer)(self.raw, index, text.len(), &raw mut buffer)
        };
        api.check(status)?;
        // SAFETY: the library made room for exactly that many bytes, in memory of its own.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), text.len()) };
        Ok(())
    }

    /// Gives up ownership: the caller releases the value.
    pub(super) fn into_raw(self) -> *mut OrtValue {
        ManuallyDrop::new(self).raw
    }
}

/// Frees a value that has no other owner; null is allowed.
///
/// # Safety
/// The pointer must come from the library, and not be used again.
pub(super) unsafe fn release(runtime: &'static Runtime, raw: *mut OrtValue) {
    // SAFETY: by this function's contract.
    unsafe { (runtime.api.0.ReleaseValue)(raw) }
}

/// A value to read from, which somebody else owns.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    runtime: &'static Runtime,
    raw: *mut OrtValue,
    owner: PhantomData<&'a Value>,
}

impl<'a> View<'a> {
    /// # Safety
    /// The pointer must come from the library and stay valid for `'a`; nobody may write to the tensor meanwhile.
    pub(super) unsafe fn new(runtime: &'static Runtime, raw: *mut OrtValue) -> Self {
        Self { runtime, raw, owner: PhantomData }
    }

    /// Reads the element type and, into `shape`, the dimensions.
    pub(super) fn shape(self, shape: &mut Vec<i64>) -> Result<Element, OrtError> {
        let api = self.runtime.api;
        let mut tensor = 0;
        // SAFETY: writes one number.
        api.check(unsafe { (api.0.IsTensor)(self.raw, &raw mut tensor) })?;
        if tensor == 0 {
            return Err(OrtError::invalid("an output is not a tensor"));
        }
        let mut info = ptr::null_mut();
        // SAFETY: writes one pointer.
        api.check(unsafe { (api.0.GetTensorTypeAndShape)(self.raw, &raw mut info) })?;
        let answer = read_shape(api, info, shape);
        // SAFETY: ours, and not used again.
        unsafe { (api.0.ReleaseTensorTypeAndShapeInfo)(info) };
        answer
    }

    /// The bytes of a tensor whose elements have a fixed size, given its type and shape as just read.
    pub(super) fn bytes(self, element: Element, shape: &[i64]) -> Result<&'a [u8], OrtError> {
        let Some((_, size)) = fixed(element) else {
            return Err(OrtError::invalid(format!(
                "an output has element type {}, which is unknown",
                element.0
            )));
        };
        let length = byte_len(size, shape)?;
        if length == 0 {
            return Ok(&[]);
        }
        let api = self.runtime.api;
        let mut memory = ptr::null_mut();
        // SAFETY: writes one pointer.
        api.check(unsafe { (api.0.GetTensorMutableData)(self.raw, &raw mut memory) })?;
        // SAFETY: the library keeps that many bytes there for as long as the value lives.
        Ok(unsafe { slice::from_raw_parts(memory.cast(), length) })
    }

    /// Copies the texts of a tensor of strings, one after the other, and where each begins.
    pub(super) fn strings(self, count: usize) -> Result<(Vec<u8>, Vec<usize>), OrtError> {
        let api = self.runtime.api;
        let mut total = 0;
        // SAFETY: writes one number.
        api.check(unsafe { (api.0.GetStringTensorDataLength)(self.raw, &raw mut total) })?;
        let mut text = vec![0_u8; total];
        let mut starts = vec![0_usize; count];
        // SAFETY: there is room for that many bytes and that many numbers.
        let status = unsafe {
            (api.0.GetStringTensorContent)(
                self.raw,
                text.as_mut_ptr().cast(),
                total,
                starts.as_mut_ptr(),
                count,
            )
        };
        api.check(status)?;
        Ok((text, starts))
    }
}
