//! The worker processes: one task per instance drives the core's lifecycle machine and owns the process.
//!
//! [`programs`] says which program holds a model and [`confine`] what it may do, [`exec`] starts it or takes one from the [`pool`], [`handshake`] speaks with it over its control
//! socket, [`instance`] is the task and `life` what it owns of a living worker, [`connection`] is what the model's task
//! holds of one, [`logs`] keeps what it writes, [`orphans`] ends what it leaves, [`status`] is what everybody else may
//! see, [`rate`] bounds it.

pub mod cgroup;
pub mod confine;
pub mod connection;
pub mod exec;
pub mod handshake;
pub mod instance;
pub mod isolation;
mod life;
pub mod logs;
pub mod orphans;
pub mod pool;
pub mod programs;
pub mod rate;
pub mod resources;
pub mod status;
mod unserved;
pub mod version;
