//! Compiles the crate's `.proto` files without a `protoc` binary.

use prost::Message as _;
use std::{env, error::Error, fs, path::PathBuf};

const FILES: [&str; 5] =
    ["grpc_service.proto", "model_config.proto", "health.proto", "worker.proto", "admin.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES {
        println!("cargo::rerun-if-changed={file}");
    }
    let service = env::var_os("CARGO_FEATURE_SERVICE").is_some();
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let mut set = protox::compile(FILES, ["."])?;
    tonic_prost_build::configure()
        .build_server(service)
        .build_client(service)
        .bytes(".")
        .btree_map(".")
        .compile_fds(set.clone())?;

    // The comments have become docs; a reader of the descriptors needs only the names.
    for file in &mut set.file {
        file.source_code_info = None;
    }
    fs::write(out.join("descriptors.bin"), set.encode_to_vec())?;
    Ok(())
}
