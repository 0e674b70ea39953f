//! Lives and deaths: of a worker process, of an instance over many of those, of a model version over its instances.
//!
//! ```text
//!  version  ──Start, Stop──►  instance  ──Spawn, SendLoad, Term, Kill──►  process
//!           ◄──up, down, failed──      ◄──hello, loaded, exited──
//! ```
//!
//! [`instance`] is the life of one instance: it spawns, loads, serves, dies, waits and comes back. When it comes back is
//! the [`restart`] policy's word, how it is made to end is the [`escalate`] ladder's, and [`exit`] has the words for how
//! it ended. [`version`] adds the instances up: loading, ready, unloading, unavailable.
//!
//! Deliberately not here: processes. Signals, sockets and pids belong to the side that performs the actions, which tells
//! the machines what it saw together with the generation that it saw it of.

pub mod escalate;
pub mod exit;
pub mod instance;
pub mod random;
pub mod restart;
pub mod version;

pub use exit::ExitCause;
pub use instance::{Instance, InstanceConfig};
pub use restart::RestartPolicy;
pub use version::{Version, VersionConfig};
