//! Which behaviour a model asks for.

use crate::{identity::Identity, repeat::Repeat, square::Square};
use nereid_worker::{Batch, ModelContext, WorkerError};

/// What the worker does with a batch.
#[derive(Debug)]
pub(crate) enum Behavior {
    Identity(Identity),
    Repeat(Repeat),
    Square(Square),
}

impl Behavior {
    /// By the backend's name, then by the parameter.
    pub(crate) fn of(model: &ModelContext) -> Result<Self, WorkerError> {
        let behavior = model.parameter("behavior").unwrap_or("identity");
        match (model.config().backend.as_str(), behavior) {
            ("identity", _) => Identity::strict(model).map(Self::Identity),
            ("repeat", _) | ("echo", "repeat") => Repeat::of(model).map(Self::Repeat),
            ("square", _) | ("echo", "square") => Square::of(model).map(Self::Square),
            ("echo", "identity" | "faults") => Identity::lenient(model).map(Self::Identity),
            ("echo", other) => Err(WorkerError::invalid_argument(format!(
                "parameter 'behavior' is '{other}'; it must be identity, repeat, square or faults"
            ))),
            (other, _) => Err(WorkerError::invalid_argument(format!(
                "this worker does not know a backend '{other}'; it runs echo, identity, repeat and square"
            ))),
        }
    }

    pub(crate) fn execute(&self, batch: &mut Batch<'_>) {
        match self {
            Self::Identity(identity) => identity.execute(batch),
            Self::Repeat(repeat) => repeat.execute(batch),
            Self::Square(square) => square.execute(batch),
        }
        batch.mark_infer_done();
    }
}
