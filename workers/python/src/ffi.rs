//! Everything in this crate that the compiler cannot check: memory lent to Python, DLPack, and moved mappings.
//!
//! The faces of these modules are safe: what lies behind a pointer is kept alive by what stands beside it.

pub(crate) mod current;
pub(crate) mod dlpack;
pub(crate) mod lent;
pub(crate) mod memory;
