//! The KServe v2 protocol over HTTP as a client sees it, byte by byte. The same through the official clients, and
//! gRPC: `tests/conformance/`.

mod batches;
mod binary;
mod errors;
mod http;
