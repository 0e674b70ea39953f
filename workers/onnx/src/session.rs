//! A model version's file, the session made of it, and what it says about the model.
//!
//! The session that described a model serves it, too, when nothing that it was made with has changed since: reading
//! and optimising a graph can take longer than everything else in a load. Deliberately not here: whether the model
//! configuration agrees with the model (`crate::check`).

#[cfg(test)]
mod tests;

use crate::{
    element,
    error::runtime_error,
    ffi::{
        runtime::{LogSink, Runtime, Severity, preload},
        session::{Kind as PortKind, Port, Session},
    },
    library::{self, Library, Surroundings},
    options::{Place, Settings},
};
use nereid_proto::{
    inference::ModelConfig,
    worker::{TensorFact, TensorFacts},
};
use nereid_worker::{Level, ModelContext, WorkerError};
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

/// The file's name where the configuration has none.
const FILE_NAME: &str = "model.onnx";

/// What CUDA and TensorRT providers link to, by the beginning of the file names.
const CUDA_LIBRARIES: [&str; 9] = [
    "libcudart.so",
    "libcublas",
    "libcudnn",
    "libcufft.so",
    "libcurand.so",
    "libnvrtc",
    "libnvJitLink",
    "libnvinfer",
    "libnvonnxparser",
];

/// A session and all that it was made with.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) session: Session,
    pub(crate) settings: Settings,
    file: PathBuf,
}

/// Opens sessions with one library, which is loaded at the first need and stays.
#[derive(Debug, Default)]
pub(crate) struct Opener {
    runtime: Option<(&'static Runtime, Library)>,
    /// Made to describe the model; may serve it.
    waiting: Option<Opened>,
}

impl Opener {
    /// The session for a model; one that was kept, if it is the same.
    pub(crate) fn open(&mut self, model: &ModelContext, sink: LogSink) -> Result<Opened, WorkerError> {
        let file = model_file(model.config(), model.version_directory(), model.name())?;
        if !model.config().cc_model_filenames.is_empty() {
            let message = "cc_model_filenames is ignored: default_model_filename serves every GPU";
            model.logger().log(Level::Warning, message);
        }
        let place = Place {
            kind: model.kind(),
            device: model.device_id(),
            cpus: thread::available_parallelism().map_or(1, usize::from),
        };
        let settings = Settings::read(model.config(), model.backend_config(), place)?;
        if let Some(opened) = self.waiting.take()
            && opened.file == file
            && opened.settings == settings
        {
            return Ok(opened);
        }
        let runtime = self.runtime(model, &settings, sink)?;
        let options = settings.session_options(runtime)?;
        let session = Session::open(&file, &options).map_err(runtime_error)?;
        Ok(Opened { session, settings, file })
    }

    /// Keeps a session for the load that follows.
    pub(crate) fn keep(&mut self, opened: Opened) {
        self.waiting = Some(opened);
    }

    fn runtime(
        &mut self,
        model: &ModelContext,
        settings: &Settings,
        sink: LogSink,
    ) -> Result<&'static Runtime, WorkerError> {
        if let Some((runtime, _)) = self.runtime {
            return Ok(runtime);
        }
        let mut named = Vec::new();
        if let Some(path) = model.parameter("onnxruntime_library") {
            named.push(("the model's parameter onnxruntime_library", model.directory().join(path)));
        }
        if let Some(path) = model.backend_config().get("library") {
            named.push(("--backend-config=onnxruntime,library", PathBuf::from(path)));
        }
        let library = library::locate(&named, &Surroundings::own())
            .map_err(|error| WorkerError::unavailable(error.to_string()))?;
        if settings.wants_gpu() {
            let missing = preload(&cuda_libraries(&library));
            if missing > 0 {
                let message =
                    format!("{missing} CUDA libraries of the wheels beside ONNX Runtime could not be loaded");
                model.logger().log(Level::Warning, message);
            }
        }
        let runtime = Runtime::load(&library.file, Severity::Warning, sink)
            .map_err(|error| WorkerError::unavailable(error.to_string()))?;
        self.runtime = Some((runtime, library));
        Ok(runtime)
    }
}

/// The file below the version's directory; a directory of that name holds `model.onnx` and its external data.
fn model_file(config: &ModelConfig, version: &Path, model: &str) -> Result<PathBuf, WorkerError> {
    let name = match config.default_model_filename.as_str() {
        "" => FILE_NAME,
        name => name,
    };
    let mut file = version.join(name);
    if file.is_dir() {
        file.push(FILE_NAME);
    }
    if file.exists() {
        return Ok(file);
    }
    let message = format!("unable to find '{}' for model instance '{model}'", file.display());
    Err(WorkerError::unavailable(message))
}

/// The CUDA libraries that Python wheels have put beside ONNX Runtime.
fn cuda_libraries(library: &Library) -> Vec<PathBuf> {
    let Some(site) = &library.site_packages else { return Vec::new() };
    let below = |folder: PathBuf| -> Vec<PathBuf> {
        let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
        list.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let packages = below(site.join("nvidia")).into_iter().map(|package| package.join("lib"));
    let folders = packages.chain([site.join("tensorrt_libs")]);
    let wanted = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.contains(".so") && CUDA_LIBRARIES.iter().any(|library| name.starts_with(library))
    };
    let mut files: Vec<PathBuf> = folders.flat_map(below).filter(wanted).collect();
    files.sort_unstable();
    files
}

/// What the model says of its inputs and outputs.
pub(crate) fn facts(session: &Session) -> Result<TensorFacts, WorkerError> {
    let list = |ports: &[Port]| ports.iter().map(fact).collect::<Result<Vec<_>, _>>();
    Ok(TensorFacts { inputs: list(session.inputs())?, outputs: list(session.outputs())? })
}

fn fact(port: &Port) -> Result<TensorFact, WorkerError> {
    let datatype = datatype(port)?;
    let number = i32::try_from(datatype.number()).unwrap_or_default();
    Ok(TensorFact { name: port.name.clone(), data_type: number, shape: port.shape.clone() })
}

/// The element type that requests name for a port, or why no request can carry it.
pub(crate) fn datatype(port: &Port) -> Result<nereid_ipc::DataType, WorkerError> {
    match port.kind {
        PortKind::Other(kind) => Err(WorkerError::unsupported(format!(
            "Unsupported ONNX Type '{}' for I/O '{}', expected '{}'.",
            element::kind_name(kind),
            port.name,
            element::kind_name(1)
        ))),
        PortKind::Tensor(element) => element::datatype(element).ok_or_else(|| {
            WorkerError::unsupported(format!(
                "I/O '{}' has elements of ONNX type {}, which requests cannot carry",
                port.name,
                element::name(element)
            ))
        }),
    }
}
