//! The server's own life: start, readiness, versions, drain, exit codes.

mod drain;
mod passive;
mod start;
mod versions;
