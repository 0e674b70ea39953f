//! Bytes from a worker: `cargo +nightly fuzz run decode_message corpus/decode_message seeds/decode_message`.
#![no_main]

#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::decode_message(data));
