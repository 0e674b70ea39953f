//! The pure core of the supervisor: it decides, and touches nothing.
//!
//! *Pure* means: no runtime, no clock, no thread, no socket, no file, no environment. Each machine takes `now` and an
//! event, and returns actions and its next deadline ([`machine::Machine`]). Machines schedule tickets, not tensors: the
//! core knows sizes, shapes, priorities and deadlines of a request, never its bytes.

#![forbid(unsafe_code)]

pub mod config;
pub mod error;
pub mod ids;
pub mod lifecycle;
pub mod machine;
pub mod request;
pub mod schedule;
pub mod stats;
pub mod time;
