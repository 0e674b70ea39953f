//! What every worker is, whatever the framework: a process that holds one model instance and answers batches.
//!
//! A worker is a `main` of a few lines and a [`Backend`]:
//!
//! ```no_run
//! use nereid_worker::{About, Backend, Batch, ModelContext, WorkerError, run};
//!
//! struct Twice;
//!
//! impl Backend for Twice {
//!     fn load(&mut self, _model: &ModelContext) -> Result<(), WorkerError> {
//!         Ok(())
//!     }
//!
//!     fn execute(&mut self, batch: &mut Batch<'_>) {
//!         for (index, request) in batch.requests().iter().enumerate() {
//!             for input in request.inputs() {
//!                 match batch.output(index, input.name(), input.datatype(), input.shape()) {
//!                     Ok(output) => output.copy_from_slice(input.bytes()),
//!                     Err(error) => batch.respond_error(index, error),
//!                 }
//!             }
//!         }
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     run(About { kind: "twice".into(), version: "1".into(), runtime: "none".into() }, Twice)
//! }
//! ```
//!
//! In the order of a worker's life: `startup` takes the two inherited sockets and shakes hands, `serve` is the loop,
//! `session` receives and sends, `heartbeat` is the one other thread, `batch`, `gather` and `tensors` are what a backend sees, `exit` is how it ends.
//!
//! The harness checks the supervisor's frames as it would any peer's: a malformed one, or one of another incarnation,
//! ends the worker, and its last words say why. When a socket closes, the supervisor is gone and the worker exits.
//!
//! Deliberately not here: any framework, scheduling, and any decision about what a model may use.

mod backend;
mod batch;
mod end;
mod error;
mod exit;
mod gather;
mod heartbeat;
mod identity;
mod late;
mod log;
mod memory;
mod model;
mod panics;
mod progress;
mod request;
#[cfg(feature = "rig")]
pub mod rig;
mod serve;
mod session;
mod startup;
mod tensors;
mod text;
mod waiting;
mod watch;

pub use backend::{Backend, Description};
pub use batch::{Batch, Raw};
pub use error::WorkerError;
pub use exit::Exit;
pub use gather::Joined;
pub use log::{Level, Logger};
pub use model::ModelContext;
pub use nereid_ipc::{Channel, DataType, elements};
/// The messages of the protocol, for backends that describe models or read parameters.
pub use nereid_proto as proto;
pub use nereid_proto::worker::{ErrorCode, parameter::Value};
pub use request::Request;
pub use startup::{About, Connection, run, run_over};
pub use tensors::{InputTensor, OutputBuffer};
pub use watch::Pause;
