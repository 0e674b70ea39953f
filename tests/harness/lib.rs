//! What the end-to-end suites share: a server on free ports, model folders, a plain HTTP client, and a view of the
//! worker processes from outside.
//!
//! Nothing of the server is linked: what is not visible through its ports, its signals and `/proc` is not tested here.
//! The programs are taken from the build folder that the test itself lies in, so `cargo build --workspace` comes first.

pub mod faults;
pub mod http;
pub mod load;
pub mod ports;
pub mod repository;
pub mod server;
pub mod wait;
