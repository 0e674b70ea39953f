//! What operators ask of a running server, and how it reaches the parts that do it.
//!
//! Everything that changes the server goes through [`control::Control`]; nothing here decides what may run.

pub mod control;
