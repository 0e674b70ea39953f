//! The harness's backend whose framework is a Python object: `nereid_worker.host.Host`.
//!
//! It loads and unloads; `execute.rs` runs batches. Every method is called on the interpreter's main thread, which gives
//! the interpreter up only while it waits for the supervisor.

use crate::{completion, exceptions::Fault, ffi::lent::Aside, log, retention::Retention};
use nereid_worker::{
    Backend, Batch, Description, Level, ModelContext, WorkerError,
    proto::{inference::model_instance_group::Kind, worker::Nothing},
};
use pyo3::{prelude::*, types::PyDict};

/// One model instance in this interpreter.
#[derive(Debug)]
pub(crate) struct PythonBackend {
    pub(crate) host: Py<PyAny>,
    /// The model's `execute`; none before the load, or if the model has none.
    pub(crate) execute: Option<Py<PyAny>>,
    pub(crate) instance_name: String,
    /// Where `execute` should have been, for the error text.
    pub(crate) model_path: String,
    pub(crate) is_decoupled: bool,
    pub(crate) retention: Retention,
    pub(crate) aside: Aside,
    /// The operator was told that the model keeps inputs.
    pub(crate) told_retention: bool,
}

impl PythonBackend {
    pub(crate) fn new(host: Py<PyAny>) -> Self {
        Self {
            host,
            execute: None,
            instance_name: String::new(),
            model_path: String::new(),
            is_decoupled: false,
            retention: Retention::default(),
            aside: Aside::default(),
            told_retention: false,
        }
    }

    /// What a client or an operator reads about a failed call.
    pub(crate) fn text(&self, py: Python<'_>, fault: &Fault) -> String {
        match fault {
            Fault::Rule(text) => text.clone(),
            Fault::Raised(error) => {
                // The two come apart: in the stable ABI the exception does not always know its traceback.
                let parts = (error.value(py), error.traceback(py));
                let described = self.host.bind(py).call_method1("describe_exception", parts);
                let described = described.and_then(|text| text.extract());
                described.unwrap_or_else(|_| error.to_string())
            }
        }
    }

    fn internal(&self, py: Python<'_>, error: PyErr) -> WorkerError {
        WorkerError::internal(self.text(py, &Fault::Raised(error)))
    }
}

impl Backend for PythonBackend {
    fn describe(&mut self, model: &ModelContext) -> Result<Description, WorkerError> {
        log::set(model.logger());
        Python::attach(|py| {
            let described = || {
                let described = self.host.bind(py).call_method1("describe", (context(py, model)?,))?;
                described.extract::<Option<String>>()
            };
            let Some(completed) = described().map_err(|error| self.internal(py, error))? else {
                return Ok(Description::Nothing(Nothing {}));
            };
            completion::apply(model.config(), &completed).map(Description::Config).map_err(|reason| {
                WorkerError::invalid_argument(format!(
                    "auto_complete_config function in model '{}' made an invalid configuration: {reason}",
                    model.name()
                ))
            })
        })
    }

    fn load(&mut self, model: &ModelContext) -> Result<(), WorkerError> {
        log::set(model.logger());
        self.instance_name = model.instance_name().to_owned();
        self.is_decoupled = model.config().model_transaction_policy.is_some_and(|policy| policy.decoupled);
        Python::attach(|py| {
            let load = || {
                let context = context(py, model)?;
                let path = self.host.bind(py).call_method1("model_path", (&context,))?.extract::<String>()?;
                let execute = self.host.bind(py).call_method1("load", (&context,))?;
                PyResult::Ok((path, execute.extract::<Option<Py<PyAny>>>()?))
            };
            let (path, execute) = load().map_err(|error| self.internal(py, error))?;
            self.model_path = path;
            self.execute = execute;
            if self.execute.is_none() {
                model.logger().log(Level::Warning, self.no_execute());
            }
            Ok(())
        })
    }

    fn execute(&mut self, batch: &mut Batch<'_>) {
        self.run_batch(batch);
    }

    fn is_ready(&mut self) -> Result<(), WorkerError> {
        Python::attach(|py| {
            let ready = self.host.bind(py).call_method0("is_ready").and_then(|ready| ready.extract());
            match ready {
                Ok(true) => Ok(()),
                Ok(false) => Err(WorkerError::unavailable(format!(
                    "Model '{}' is not ready (user-defined check failed).",
                    self.instance_name
                ))),
                Err(error) => Err(self.internal(py, error)),
            }
        })
    }

    fn unload(&mut self) {
        Python::attach(|py| {
            self.execute = None;
            if let Err(error) = self.host.bind(py).call_method0("unload") {
                let text = format!(
                    "finalize of model instance '{}' failed: {}",
                    self.instance_name,
                    self.text(py, &Fault::Raised(error))
                );
                log::log(py, Level::Error.into(), text, file!().to_owned(), line!());
            }
        });
    }

    fn wait(block: &mut (dyn FnMut() + Send)) {
        Python::attach(|py| py.detach(block));
    }
}

/// What the host is told about the model; everything is text, as models get it.
fn context<'py>(py: Python<'py>, model: &ModelContext) -> PyResult<Bound<'py, PyDict>> {
    let kind = match model.kind() {
        Kind::Gpu => "GPU",
        Kind::Model => "MODEL",
        Kind::Cpu | Kind::Auto => "CPU",
    };
    let context = PyDict::new(py);
    for (key, path) in [("directory", model.directory()), ("version_directory", model.version_directory())] {
        context.set_item(key, path.display().to_string())?;
    }
    context.set_item("version", model.version().to_string())?;
    context.set_item("model_name", model.name())?;
    context.set_item("instance_name", model.instance_name())?;
    context.set_item("kind", kind)?;
    context.set_item("device_id", model.device_id().to_string())?;
    context.set_item("config_json", model.config_json())?;
    Ok(context)
}
