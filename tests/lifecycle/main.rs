//! The server's own life: start, readiness, versions, drain, exit codes.

mod drain;
mod passive;
mod pool;
mod start;
mod versions;
