//! The loaded library and its environment: one of each in a process, and for its whole life.
//!
//! Deliberately not here: where the library lies (`crate::library`).

use super::{API_VERSION, Api, OrtError, text_of};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use ort_sys::{OrtAllocator, OrtApiBase, OrtEnv, OrtMemoryInfo};
use std::{
    ffi::{c_char, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::OnceLock,
};

/// Why a library file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("cannot load ONNX Runtime from '{}': {cause}", path.display())]
    Open { path: PathBuf, cause: String },
    #[error("'{}' is not ONNX Runtime: it has no function OrtGetApiBase", path.display())]
    NotOnnxRuntime { path: PathBuf },
    #[error(
        "ONNX Runtime {version} at '{}' is too old: version 1.{API_VERSION} or later is needed \
         (wheels from 1.19 on carry the library: `pip install --upgrade onnxruntime`)",
        path.display()
    )]
    TooOld { path: PathBuf, version: String },
    #[error("ONNX Runtime {version} at '{}' cannot be started: {cause}", path.display())]
    Start { path: PathBuf, version: String, cause: OrtError },
}

/// How grave a line of the library's log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Verbose,
    Info,
    Warning,
    Error,
}

/// Takes the library's log lines. May be called from any thread of the library and must not panic.
pub(crate) type LogSink = fn(Severity, &str);

static LOG_SINK: OnceLock<LogSink> = OnceLock::new();

/// The library, its environment, and what is made of it once.
pub(crate) struct Runtime {
    pub(super) api: Api,
    pub(super) env: *mut OrtEnv,
    /// Describes plain host memory.
    pub(super) host_memory: *mut OrtMemoryInfo,
    /// The library's default allocator; not ours to free.
    pub(super) allocator: *mut OrtAllocator,
    path: PathBuf,
    version: String,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("path", &self.path)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// Loads the library and starts it. Log lines of that severity and above go to the first sink ever given.
    pub(crate) fn load(path: &Path, least: Severity, sink: LogSink) -> Result<&'static Self, LoadError> {
        let open_error =
            |cause: libloading::Error| LoadError::Open { path: path.into(), cause: describe(&cause) };
        // SAFETY: running the initialisers of the library that the operator chose is the purpose of this worker.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(open_error)?;
        // SAFETY: that is the signature of the one function every release exports.
        let entry =
            unsafe { library.get::<unsafe extern "system" fn() -> *const OrtApiBase>(b"OrtGetApiBase\0") };
        let Ok(entry) = entry else {
            return Err(LoadError::NotOnnxRuntime { path: path.into() });
        };
        let entry = *entry;
        // Its threads and exit handlers must find their code until the process ends.
        std::mem::forget(library);
        // SAFETY: takes nothing, and answers a table that lives as long as the library.
        let base = unsafe { entry() };
        // SAFETY: not null by the library's contract, and static.
        let base: &'static OrtApiBase = unsafe { &*base };
        // SAFETY: takes nothing, answers a static string.
        let version = text_of(unsafe { (base.GetVersionString)() });
        // SAFETY: any number may be asked for; an unknown one gives null.
        let table = unsafe { (base.GetApi)(API_VERSION) };
        // SAFETY: null or a static table with at least the functions of that version, which is all that the
        // bindings declare with their feature `api-17`.
        let Some(table) = (unsafe { table.as_ref() }) else {
            return Err(LoadError::TooOld { path: path.into(), version });
        };
        Self::start(Api(table), path, version.clone(), least, sink).map_err(|cause| LoadError::Start {
            path: path.into(),
            version,
            cause,
        })
    }

    fn start(
        api: Api,
        path: &Path,
        version: String,
        least: Severity,
        sink: LogSink,
    ) -> Result<&'static Self, OrtError> {
        LOG_SINK.get_or_init(|| sink);
        let level = match least {
            Severity::Verbose => ort_sys::OrtLoggingLevel::ORT_LOGGING_LEVEL_VERBOSE,
            Severity::Info => ort_sys::OrtLoggingLevel::ORT_LOGGING_LEVEL_INFO,
            Severity::Warning => ort_sys::OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING,
            Severity::Error => ort_sys::OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR,
        };
        // SAFETY: the two types differ in a C enum and an `i32`, which are passed alike; see the module `ffi`.
        let logger: ort_sys::OrtLoggingFunction = unsafe { std::mem::transmute(forward_log as ForwardLog) };
        let mut env = ptr::null_mut();
        // SAFETY: the logger needs no parameter, the name is a C string that the library copies.
        let status = unsafe {
            (api.0.CreateEnvWithCustomLogger)(
                logger,
                ptr::null_mut(),
                level,
                c"nereid".as_ptr(),
                &raw mut env,
            )
        };
        api.check(status)?;
        let mut host_memory = ptr::null_mut();
        // SAFETY: writes one pointer.
        let status = unsafe {
            (api.0.CreateCpuMemoryInfo)(
                ort_sys::OrtAllocatorType::OrtDeviceAllocator,
                ort_sys::OrtMemType::OrtMemTypeDefault,
                &raw mut host_memory,
            )
        };
        api.check(status)?;
        let mut allocator = ptr::null_mut();
        // SAFETY: writes one pointer.
        let status = unsafe { (api.0.GetAllocatorWithDefaultOptions)(&raw mut allocator) };
        api.check(status)?;
        // One a process, for its whole life: sessions may then borrow it without counting.
        Ok(Box::leak(Box::new(Self { api, env, host_memory, allocator, path: path.into(), version })))
    }

    /// The file that was loaded.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// "1.22.1".
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// What the library was built with, such as "CUDAExecutionProvider".
    pub(crate) fn providers(&self) -> Result<Vec<String>, OrtError> {
        let (mut names, mut count) = (ptr::null_mut(), 0);
        // SAFETY: writes a pointer and a number.
        let status = unsafe { (self.api.0.GetAvailableProviders)(&raw mut names, &raw mut count) };
        self.api.check(status)?;
        let mut list = Vec::new();
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the library wrote `count` pointers there.
            let name = unsafe { names.add(index) };
            // SAFETY: as above.
            let name: *mut c_char = unsafe { *name };
            list.push(text_of(name));
        }
        // SAFETY: what the library gave, once.
        let status = unsafe { (self.api.0.ReleaseAvailableProviders)(names, count) };
        self.api.check(status)?;
        Ok(list)
    }

    /// Bounds the arena that sessions with `session.use_env_allocators` share. Keys are the library's own.
    pub(crate) fn register_arena(
        &self,
        settings: &[(&'static std::ffi::CStr, usize)],
    ) -> Result<(), OrtError> {
        let keys: Vec<*const c_char> = settings.iter().map(|(key, _)| key.as_ptr()).collect();
        let values: Vec<usize> = settings.iter().map(|(_, value)| *value).collect();
        let mut arena = ptr::null_mut();
        // SAFETY: two arrays of that many entries, alive during the call.
        let status = unsafe {
            (self.api.0.CreateArenaCfgV2)(keys.as_ptr(), values.as_ptr(), settings.len(), &raw mut arena)
        };
        self.api.check(status)?;
        let mut info = ptr::null_mut();
        // SAFETY: writes one pointer.
        let status = unsafe {
            (self.api.0.CreateCpuMemoryInfo)(
                ort_sys::OrtAllocatorType::OrtArenaAllocator,
                ort_sys::OrtMemType::OrtMemTypeDefault,
                &raw mut info,
            )
        };
        self.api.check(status)?;
        // SAFETY: all three were made by this library; it copies what it needs.
        let status = unsafe { (self.api.0.CreateAndRegisterAllocator)(self.env, info, arena) };
        let answer = self.api.check(status);
        // SAFETY: ours, and not used again.
        unsafe { (self.api.0.ReleaseMemoryInfo)(info) };
        // SAFETY: ours, and not used again.
        unsafe { (self.api.0.ReleaseArenaCfg)(arena) };
        answer
    }
}

/// Makes the symbols of shared libraries available to those that are loaded later, and keeps them for good.
///
/// The CUDA libraries of Python wheels lie where the dynamic linker does not look. They need one another, so the list
/// is gone through until a round adds nothing. Answers how many could not be loaded.
pub(crate) fn preload(paths: &[PathBuf]) -> usize {
    let mut waiting: Vec<&PathBuf> = paths.iter().collect();
    loop {
        let before = waiting.len();
        waiting.retain(|path| {
            // SAFETY: these belong to the wheel that the operator installed for this purpose.
            match unsafe { Library::open(Some(*path), RTLD_NOW | RTLD_GLOBAL) } {
                Ok(library) => {
                    std::mem::forget(library);
                    false
                }
                Err(_) => true,
            }
        });
        if waiting.is_empty() || waiting.len() == before {
            return waiting.len();
        }
    }
}

/// The linker's own words, which `Display` keeps for the source.
fn describe(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

type ForwardLog =
    unsafe extern "system" fn(*mut c_void, i32, *const c_char, *const c_char, *const c_char, *const c_char);

/// Called by the library for each log line, from any thread.
unsafe extern "system" fn forward_log(
    _parameter: *mut c_void,
    severity: i32,
    _category: *const c_char,
    _log_id: *const c_char,
    _location: *const c_char,
    message: *const c_char,
) {
    let severity = match severity {
        0 => Severity::Verbose,
        1 => Severity::Info,
        2 => Severity::Warning,
        _ => Severity::Error,
    };
    if let Some(sink) = LOG_SINK.get() {
        sink(severity, &text_of(message));
    }
}
