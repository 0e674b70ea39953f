//! One run of a session: which tensors go in, where the results land, and reading those that the library made.
//!
//! Deliberately not here: knowing shapes beforehand, and what to do when a guess was wrong (`crate::execute`).

use super::{
    OrtError,
    options::RunOptions,
    session::{Element, Kind, Session},
    value::{STRING, Value, View, byte_len, release},
};
use ort_sys::OrtValue;
use std::{ffi::c_char, fmt, marker::PhantomData, ptr};

/// The arrays that a run needs, kept so that a run allocates nothing of its own.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    inputs: Vec<Value>,
    input_names: Vec<*const c_char>,
    raw_inputs: Vec<*const OrtValue>,
    output_names: Vec<*const c_char>,
    /// Null where the library is to allocate.
    raw_outputs: Vec<*mut OrtValue>,
    /// Which output each one is, and whether it was given memory; the others are the library's.
    asked: Vec<(usize, bool)>,
}

/// A run that is being prepared or has been made. Tensors may lie in memory that lives for `'m`.
pub(crate) struct Call<'m> {
    session: &'m Session,
    scratch: &'m mut Scratch,
    memory: PhantomData<&'m mut [u8]>,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("scratch", &self.scratch).finish_non_exhaustive()
    }
}

/// An output that the library made.
#[derive(Debug)]
pub(crate) enum Made<'a> {
    /// Elements of fixed size.
    Fixed(Element, &'a [u8]),
    /// Strings: all texts one after the other, and where each begins.
    Strings(Vec<u8>, Vec<usize>),
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.release_outputs();
        self.scratch.inputs.clear();
        self.scratch.input_names.clear();
        self.scratch.raw_inputs.clear();
        self.scratch.output_names.clear();
        self.scratch.raw_outputs.clear();
        self.scratch.asked.clear();
    }
}

impl<'m> Call<'m> {
    pub(crate) fn new(session: &'m Session, scratch: &'m mut Scratch) -> Self {
        Self { session, scratch, memory: PhantomData }
    }

    /// Feeds an input, counted as `Session::all_inputs` does, from memory that is read in place; what is not aligned
    /// to its element type is copied.
    pub(crate) fn input(&mut self, index: usize, memory: &'m [u8], shape: &[i64]) -> Result<(), OrtError> {
        let element = element_of(self.session.inputs[index].kind)?;
        if !Value::is_aligned(element, memory) {
            let value = Value::copied(self.session.runtime, element, shape, memory)?;
            self.push_input(index, value);
            return Ok(());
        }
        let pointer = memory.as_ptr().cast_mut();
        // SAFETY: lent for `'m`, which outlives the call. The library takes a mutable pointer for inputs too and
        // promises not to write to what a run is fed with.
        let value = unsafe { Value::over(self.session.runtime, element, shape, pointer, memory.len()) }?;
        self.push_input(index, value);
        Ok(())
    }

    /// Feeds an input of strings; they are copied.
    pub(crate) fn input_strings<'a>(
        &mut self,
        index: usize,
        shape: &[i64],
        elements: impl Iterator<Item = Result<&'a [u8], OrtError>>,
    ) -> Result<(), OrtError> {
        let value = Value::of_strings(self.session.runtime, shape, elements)?;
        self.push_input(index, value);
        Ok(())
    }

    fn push_input(&mut self, index: usize, value: Value) {
        self.scratch.input_names.push(self.session.inputs[index].raw_name.as_ptr());
        self.scratch.raw_inputs.push(value.raw);
        self.scratch.inputs.push(value);
    }

    /// Asks for an output whose shape is known, to be written to this memory.
    pub(crate) fn output_into(
        &mut self,
        index: usize,
        memory: &'m mut [u8],
        shape: &[i64],
    ) -> Result<(), OrtError> {
        let element = element_of(self.session.outputs[index].kind)?;
        // SAFETY: lent exclusively for `'m`, which outlives the call.
        let value =
            unsafe { Value::over(self.session.runtime, element, shape, memory.as_mut_ptr(), memory.len()) }?;
        // The array owns it from here on; `release_outputs` frees it.
        self.push_output(index, value.into_raw(), true);
        Ok(())
    }

    /// Asks for an output that the library allocates.
    pub(crate) fn output(&mut self, index: usize) {
        self.push_output(index, ptr::null_mut(), false);
    }

    fn push_output(&mut self, index: usize, raw: *mut OrtValue, given: bool) {
        self.scratch.output_names.push(self.session.outputs[index].raw_name.as_ptr());
        self.scratch.raw_outputs.push(raw);
        self.scratch.asked.push((index, given));
    }

    /// Takes the memory back from every output: the next run lets the library allocate them all.
    pub(crate) fn withdraw_output_memory(&mut self) {
        self.release_outputs();
        self.scratch.asked.iter_mut().for_each(|(_, given)| *given = false);
    }

    /// Whether any output was given memory.
    pub(crate) fn gave_output_memory(&self) -> bool {
        self.scratch.asked.iter().any(|(_, given)| *given)
    }

    /// Whether the output that was asked for as number `position` was given memory.
    pub(crate) fn was_given(&self, position: usize) -> bool {
        self.scratch.asked[position].1
    }

    /// The outputs that were asked for, in that order, as `Session::outputs` counts.
    pub(crate) fn asked_for(&self) -> impl Iterator<Item = usize> {
        self.scratch.asked.iter().map(|(index, _)| *index)
    }

    pub(crate) fn run(&mut self, options: &RunOptions) -> Result<(), OrtError> {
        let scratch = &mut *self.scratch;
        let api = self.session.runtime.api;
        // SAFETY: names and values lie in arrays of the lengths given, inputs are alive in `scratch.inputs`, and
        // outputs are null or values of ours. The session is used by this thread alone.
        let status = unsafe {
            (api.0.Run)(
                self.session.raw,
                options.raw,
                scratch.input_names.as_ptr(),
                scratch.raw_inputs.as_ptr(),
                scratch.raw_inputs.len(),
                scratch.output_names.as_ptr(),
                scratch.output_names.len(),
                scratch.raw_outputs.as_mut_ptr(),
            )
        };
        api.check(status)
    }

    /// The output that was asked for as number `position`; its dimensions are put into `shape`.
    pub(crate) fn made(&self, position: usize, shape: &mut Vec<i64>) -> Result<Made<'_>, OrtError> {
        let raw = self.scratch.raw_outputs[position];
        if raw.is_null() {
            return Err(OrtError::invalid("an output was left empty"));
        }
        // SAFETY: the array owns the value until the call is dropped or changed, and the view borrows the call.
        let view = unsafe { View::new(self.session.runtime, raw) };
        let element = view.shape(shape)?;
        if element == STRING {
            let (text, starts) = view.strings(byte_len(1, shape)?)?;
            return Ok(Made::Strings(text, starts));
        }
        Ok(Made::Fixed(element, view.bytes(element, shape)?))
    }

    fn release_outputs(&mut self) {
        for raw in &mut self.scratch.raw_outputs {
            if !raw.is_null() {
                // SAFETY: the array is the only owner, and forgets the pointer here.
                unsafe { release(self.session.runtime, *raw) };
                *raw = ptr::null_mut();
            }
        }
    }
}

fn element_of(kind: Kind) -> Result<Element, OrtError> {
    match kind {
        Kind::Tensor(element) => Ok(element),
        Kind::Other(kind) => {
            Err(OrtError::invalid(format!("only tensors can be passed, not ONNX type {kind}")))
        }
    }
}
