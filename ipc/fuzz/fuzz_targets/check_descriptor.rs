//! Descriptors from a worker: `cargo +nightly fuzz run check_descriptor corpus/check_descriptor seeds/check_descriptor`.
#![no_main]

#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::check_descriptor(data));
