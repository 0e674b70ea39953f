//! The loop with a fake supervisor on the other end of real sockets.
#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

mod batches;
mod early;
mod ends;
mod handshake;
mod heartbeat;
mod joined;
mod memory;

use nereid_worker::{
    Backend, Batch, Description, ModelContext, WorkerError,
    proto::{
        inference::{ModelConfig, ModelParameter},
        worker::Model,
    },
    rig::Rig,
};

type Step<A, R> = Box<dyn FnMut(A) -> R + Send>;
type Load = Box<dyn FnMut(&ModelContext) -> Result<(), WorkerError> + Send>;

/// A backend whose every step is a closure of the test.
pub(crate) struct Scripted {
    pub(crate) describe: fn(&ModelContext) -> Result<Description, WorkerError>,
    pub(crate) load: Load,
    pub(crate) execute: Box<dyn FnMut(&mut Batch<'_>) + Send>,
    pub(crate) is_ready: Step<(), Result<(), WorkerError>>,
    pub(crate) unload: Step<(), ()>,
}

impl Scripted {
    /// Does nothing but execute.
    pub(crate) fn executing(execute: impl FnMut(&mut Batch<'_>) + Send + 'static) -> Self {
        Self {
            describe: |_| Err(WorkerError::unsupported("tells nothing")),
            load: Box::new(|_| Ok(())),
            execute: Box::new(execute),
            is_ready: Box::new(|()| Ok(())),
            unload: Box::new(|()| ()),
        }
    }

    /// Answers each request with its inputs.
    pub(crate) fn mirror() -> Self {
        Self::executing(mirror)
    }

    /// Runs it and loads a model.
    pub(crate) fn loaded(self) -> Rig {
        let mut rig = Rig::start(self);
        rig.load(model()).unwrap();
        rig
    }
}

impl Backend for Scripted {
    fn describe(&mut self, model: &ModelContext) -> Result<Description, WorkerError> {
        (self.describe)(model)
    }

    fn load(&mut self, model: &ModelContext) -> Result<(), WorkerError> {
        (self.load)(model)
    }

    fn execute(&mut self, batch: &mut Batch<'_>) {
        (self.execute)(batch);
    }

    fn is_ready(&mut self) -> Result<(), WorkerError> {
        (self.is_ready)(())
    }

    fn unload(&mut self) {
        (self.unload)(());
    }
}

pub(crate) fn mirror(batch: &mut Batch<'_>) {
    for (index, request) in batch.requests().iter().enumerate() {
        for input in request.inputs() {
            let place = (input.datatype(), input.shape());
            match batch.output_with_len(index, input.name(), place, input.bytes().len()) {
                Ok(output) => output.copy_from_slice(input.bytes()),
                Err(error) => batch.respond_error(index, error),
            }
        }
    }
}

pub(crate) fn model() -> Model {
    let parameter = ModelParameter { string_value: "fast".to_owned() };
    Model {
        name: "m".to_owned(),
        version: 3,
        directory: "/models/m".to_owned(),
        version_directory: "/models/m/3".to_owned(),
        instance_name: "m_0_0".to_owned(),
        config: Some(ModelConfig {
            max_batch_size: 8,
            parameters: [("speed".to_owned(), parameter)].into(),
            ..ModelConfig::default()
        }),
        ..Model::default()
    }
}
