//! The server's own life: start, readiness, versions, drain, exit codes.

mod drain;
mod start;
mod versions;
