//! Session options and run options as the library wants them: one method per setting.
//!
//! Deliberately not here: which settings a model configuration asks for (`crate::options`).

use super::{OrtError, c_string, runtime::Runtime};
use ort_sys::{ExecutionMode, GraphOptimizationLevel, OrtRunOptions, OrtSessionOptions, OrtStatusPtr};
use std::{
    ffi::{CString, c_char, c_int},
    ptr,
};

/// How far the library may rewrite a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphLevel {
    None,
    Basic,
    Extended,
    All,
}

/// What a session is made with.
#[derive(Debug)]
pub(crate) struct SessionOptions {
    pub(super) runtime: &'static Runtime,
    pub(super) raw: *mut OrtSessionOptions,
}

impl Drop for SessionOptions {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again; sessions keep their own copy.
        unsafe { (self.runtime.api.0.ReleaseSessionOptions)(self.raw) }
    }
}

impl SessionOptions {
    pub(crate) fn new(runtime: &'static Runtime) -> Result<Self, OrtError> {
        let mut raw = ptr::null_mut();
        // SAFETY: writes one pointer.
        let status = unsafe { (runtime.api.0.CreateSessionOptions)(&raw mut raw) };
        runtime.api.check(status)?;
        Ok(Self { runtime, raw })
    }

    pub(crate) fn set_graph_level(&mut self, level: GraphLevel) -> Result<(), OrtError> {
        let level = match level {
            GraphLevel::None => GraphOptimizationLevel::ORT_DISABLE_ALL,
            GraphLevel::Basic => GraphOptimizationLevel::ORT_ENABLE_BASIC,
            GraphLevel::Extended => GraphOptimizationLevel::ORT_ENABLE_EXTENDED,
            GraphLevel::All => GraphOptimizationLevel::ORT_ENABLE_ALL,
        };
        // SAFETY: the options are ours.
        let status = unsafe { (self.runtime.api.0.SetSessionGraphOptimizationLevel)(self.raw, level) };
        self.runtime.api.check(status)
    }

    /// Whether branches of the graph may run at the same time.
    pub(crate) fn set_parallel(&mut self, parallel: bool) -> Result<(), OrtError> {
        let mode = if parallel { ExecutionMode::ORT_PARALLEL } else { ExecutionMode::ORT_SEQUENTIAL };
        // SAFETY: the options are ours.
        let status = unsafe { (self.runtime.api.0.SetSessionExecutionMode)(self.raw, mode) };
        self.runtime.api.check(status)
    }

    pub(crate) fn set_intra_threads(&mut self, threads: c_int) -> Result<(), OrtError> {
        // SAFETY: the options are ours.
        let status = unsafe { (self.runtime.api.0.SetIntraOpNumThreads)(self.raw, threads) };
        self.runtime.api.check(status)
    }

    pub(crate) fn set_inter_threads(&mut self, threads: c_int) -> Result<(), OrtError> {
        // SAFETY: the options are ours.
        let status = unsafe { (self.runtime.api.0.SetInterOpNumThreads)(self.raw, threads) };
        self.runtime.api.check(status)
    }

    pub(crate) fn set_memory_arena(&mut self, on: bool) -> Result<(), OrtError> {
        let set =
            if on { self.runtime.api.0.EnableCpuMemArena } else { self.runtime.api.0.DisableCpuMemArena };
        // SAFETY: the options are ours.
        let status = unsafe { set(self.raw) };
        self.runtime.api.check(status)
    }

    pub(crate) fn set_memory_pattern(&mut self, on: bool) -> Result<(), OrtError> {
        let set = if on { self.runtime.api.0.EnableMemPattern } else { self.runtime.api.0.DisableMemPattern };
        // SAFETY: the options are ours.
        let status = unsafe { set(self.raw) };
        self.runtime.api.check(status)
    }

    /// A "session.*" entry and its like; the library ignores keys that it does not know.
    pub(crate) fn set_entry(&mut self, key: &str, value: &str) -> Result<(), OrtError> {
        let (key, value) = (c_string(key)?, c_string(value)?);
        // SAFETY: the options are ours, the strings are copied.
        let status =
            unsafe { (self.runtime.api.0.AddSessionConfigEntry)(self.raw, key.as_ptr(), value.as_ptr()) };
        self.runtime.api.check(status)
    }

    /// Loads a library of custom operators, which the session then owns.
    pub(crate) fn add_operators(&mut self, library: &str) -> Result<(), OrtError> {
        let library = c_string(library)?;
        // SAFETY: the options are ours, the string is copied.
        let status = unsafe { (self.runtime.api.0.RegisterCustomOpsLibrary_V2)(self.raw, library.as_ptr()) };
        self.runtime.api.check(status)
    }

    pub(crate) fn append_cuda(&mut self, settings: &[(String, String)]) -> Result<(), OrtError> {
        let api = self.runtime.api;
        let mut provider = ptr::null_mut();
        // SAFETY: writes one pointer.
        api.check(unsafe { (api.0.CreateCUDAProviderOptions)(&raw mut provider) })?;
        let answer = with_entries(settings, |keys, values, count| {
            // SAFETY: the provider options were just made; the arrays hold `count` C strings, which are copied.
            unsafe { (api.0.UpdateCUDAProviderOptions)(provider, keys, values, count) }
        })
        .and_then(|status| api.check(status))
        .and_then(|()| {
            // SAFETY: both are ours; the provider options are copied.
            api.check(unsafe { (api.0.SessionOptionsAppendExecutionProvider_CUDA_V2)(self.raw, provider) })
        });
        // SAFETY: ours, and not used again.
        unsafe { (api.0.ReleaseCUDAProviderOptions)(provider) };
        answer
    }

    pub(crate) fn append_tensorrt(&mut self, settings: &[(String, String)]) -> Result<(), OrtError> {
        let api = self.runtime.api;
        let mut provider = ptr::null_mut();
        // SAFETY: writes one pointer.
        api.check(unsafe { (api.0.CreateTensorRTProviderOptions)(&raw mut provider) })?;
        let answer = with_entries(settings, |keys, values, count| {
            // SAFETY: the provider options were just made; the arrays hold `count` C strings, which are copied.
            unsafe { (api.0.UpdateTensorRTProviderOptions)(provider, keys, values, count) }
        })
        .and_then(|status| api.check(status))
        .and_then(|()| {
            // SAFETY: both are ours; the provider options are copied.
            api.check(unsafe {
                (api.0.SessionOptionsAppendExecutionProvider_TensorRT_V2)(self.raw, provider)
            })
        });
        // SAFETY: ours, and not used again.
        unsafe { (api.0.ReleaseTensorRTProviderOptions)(provider) };
        answer
    }

    /// Any other provider that the library knows by name, such as "OpenVINO".
    pub(crate) fn append_named(
        &mut self,
        provider: &str,
        settings: &[(String, String)],
    ) -> Result<(), OrtError> {
        let provider = c_string(provider)?;
        let status = with_entries(settings, |keys, values, count| {
            // SAFETY: the options are ours; the name and the arrays of `count` C strings are copied.
            unsafe {
                (self.runtime.api.0.SessionOptionsAppendExecutionProvider)(
                    self.raw,
                    provider.as_ptr(),
                    keys,
                    values,
                    count,
                )
            }
        })?;
        self.runtime.api.check(status)
    }
}

/// Lends a list of settings as the two arrays of C strings that provider functions take.
fn with_entries(
    settings: &[(String, String)],
    call: impl FnOnce(*const *const c_char, *const *const c_char, usize) -> OrtStatusPtr,
) -> Result<OrtStatusPtr, OrtError> {
    let keys: Vec<CString> = settings.iter().map(|(key, _)| c_string(key)).collect::<Result<_, _>>()?;
    let values: Vec<CString> = settings.iter().map(|(_, value)| c_string(value)).collect::<Result<_, _>>()?;
    let raw_keys: Vec<*const c_char> = keys.iter().map(|key| key.as_ptr()).collect();
    let raw_values: Vec<*const c_char> = values.iter().map(|value| value.as_ptr()).collect();
    Ok(call(raw_keys.as_ptr(), raw_values.as_ptr(), settings.len()))
}

/// What each run is made with.
#[derive(Debug)]
pub(crate) struct RunOptions {
    runtime: &'static Runtime,
    pub(super) raw: *mut OrtRunOptions,
}

impl Drop for RunOptions {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { (self.runtime.api.0.ReleaseRunOptions)(self.raw) }
    }
}

impl RunOptions {
    pub(crate) fn new(runtime: &'static Runtime) -> Result<Self, OrtError> {
        let mut raw = ptr::null_mut();
        // SAFETY: writes one pointer.
        let status = unsafe { (runtime.api.0.CreateRunOptions)(&raw mut raw) };
        runtime.api.check(status)?;
        Ok(Self { runtime, raw })
    }

    /// A "memory.*" entry and its like.
    pub(crate) fn set_entry(&mut self, key: &str, value: &str) -> Result<(), OrtError> {
        let (key, value) = (c_string(key)?, c_string(value)?);
        // SAFETY: the options are ours, the strings are copied.
        let status =
            unsafe { (self.runtime.api.0.AddRunConfigEntry)(self.raw, key.as_ptr(), value.as_ptr()) };
        self.runtime.api.check(status)
    }
}
