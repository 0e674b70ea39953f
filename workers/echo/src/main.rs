//! The worker without a framework: for the quick start, for tests and for measuring everything but a model.
//!
//! What it does is chosen by the model's `backend`, or by its parameter `behavior` when that is `echo`:
//!
//! | `backend` | `behavior` | does |
//! |---|---|---|
//! | `identity` | | returns its inputs, with the rules of Triton's backend of that name |
//! | `repeat` | | decoupled: returns the elements of a vector one by one, each after its delay |
//! | `square` | | decoupled: returns the number n, n times |
//! | `echo` | `identity` (default) | returns its inputs, whatever they are |
//! | `echo` | `repeat`, `square` | as above |
//! | `echo` | `faults` | returns its inputs; the first text of the first BYTES input is a [fault](faults) to commit |
//!
//! Parameters of the model: `execute_delay_ms`, `instance_wise_delay_multiplier` and `creation_delay_sec` are those of
//! Triton's identity backend; `CUSTOM_INFER_DELAY_NS`, `CUSTOM_OUTPUT_DELAY_NS`, `CUSTOM_FAIL_COUNT` and
//! `CUSTOM_EMPTY_COUNT` those of its square backend. A request of an `echo` model may give an `execute_delay_ms` of its
//! own. `load_fault` names a fault to commit while loading. With `faults` set to `true`, the request parameter `fault`
//! commands one; without it, no client can do harm.

mod behavior;
mod config;
mod faults;
mod ffi;
mod identity;
mod repeat;
mod square;

#[cfg(test)]
mod tests;

use behavior::Behavior;
use faults::Faults;
use nereid_worker::{About, Backend, Batch, ModelContext, WorkerError, run};
use std::process::ExitCode;

/// The backend: a behaviour, and faults on top of it.
#[derive(Debug, Default)]
struct Echo {
    behavior: Option<Behavior>,
    faults: Faults,
}

impl Backend for Echo {
    fn load(&mut self, model: &ModelContext) -> Result<(), WorkerError> {
        self.faults = Faults::of(model);
        self.faults.commit_at_load(model)?;
        self.behavior = Some(Behavior::of(model)?);
        config::creation_delay(model)
    }

    fn execute(&mut self, batch: &mut Batch<'_>) {
        let Some(behavior) = &self.behavior else { return };
        match self.faults.commanded(batch) {
            None => behavior.execute(batch),
            Some(command) => self.faults.commit(command, batch, |batch| behavior.execute(batch)),
        }
    }
}

fn main() -> ExitCode {
    let about = About {
        kind: "echo".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        runtime: "no framework".to_owned(),
    };
    run(about, Echo::default())
}
