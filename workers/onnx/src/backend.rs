//! The worker's one model, as the harness sees it: describe, load, execute.

use crate::{
    check::check,
    error::runtime_error,
    execute::Executor,
    ffi::runtime::Severity,
    plan::Plan,
    session::{Opened, Opener, facts},
};
use nereid_worker::{
    Backend, Batch, Description, Level, Logger, ModelContext, WorkerError,
    proto::{inference::ModelConfig, worker::Nothing},
};
use std::sync::OnceLock;

/// Where the library's log lines go; it may call from any of its threads.
static LOGGER: OnceLock<Logger> = OnceLock::new();

/// A model of ONNX Runtime.
#[derive(Debug, Default)]
pub(crate) struct OnnxBackend {
    opener: Opener,
    model: Option<Executor>,
}

impl Backend for OnnxBackend {
    fn describe(&mut self, model: &ModelContext) -> Result<Description, WorkerError> {
        if is_complete(model.config()) {
            let name = model.name();
            let message = format!(
                "skipping model configuration auto-complete for '{name}': inputs and outputs already specified"
            );
            model.logger().log(Level::Info, message);
            return Ok(Description::Nothing(Nothing {}));
        }
        let opened = self.open(model)?;
        let facts = facts(&opened.session)?;
        self.opener.keep(opened);
        Ok(Description::Facts(facts))
    }

    fn load(&mut self, model: &ModelContext) -> Result<(), WorkerError> {
        let Opened { session, settings, .. } = self.open(model)?;
        for note in settings.notes() {
            model.logger().log(Level::Verbose, note);
        }
        check(model.config(), &session)?;
        let plan = Plan::new(model.config(), &session)?;
        let options = settings.run_options(session.runtime()).map_err(runtime_error)?;
        self.model = Some(Executor::new(session, plan, options));
        Ok(())
    }

    fn execute(&mut self, batch: &mut Batch<'_>) {
        match &mut self.model {
            Some(model) => model.execute(batch),
            None => batch.respond_error_to_all(&WorkerError::unavailable("the model is not loaded")),
        }
    }

    fn unload(&mut self) {
        self.model = None;
    }
}

impl OnnxBackend {
    fn open(&mut self, model: &ModelContext) -> Result<Opened, WorkerError> {
        LOGGER.get_or_init(|| model.logger().clone());
        self.opener.open(model, log)
    }
}

/// Nothing is left for the model to tell.
fn is_complete(config: &ModelConfig) -> bool {
    let inputs = config.input.len() + config.batch_input.len();
    inputs > 0 && !config.output.is_empty()
}

/// Forwards a line of the library's log.
fn log(severity: Severity, line: &str) {
    let level = match severity {
        Severity::Verbose => Level::Verbose,
        Severity::Info => Level::Info,
        Severity::Warning => Level::Warning,
        Severity::Error => Level::Error,
    };
    if let Some(logger) = LOGGER.get() {
        logger.log(level, format!("onnxruntime: {line}"));
    }
}
