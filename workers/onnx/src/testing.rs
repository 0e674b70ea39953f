//! What the tests of several modules need: the library, found as in production, and the committed models.
//!
//! A machine without ONNX Runtime fails these tests, with the message that an operator would read.

use crate::{
    ffi::{
        options::SessionOptions,
        runtime::{Runtime, Severity},
        session::Session,
    },
    library::{self, Surroundings},
};
use nereid_ipc::DataType;
use nereid_worker::proto::{
    FILE_DESCRIPTOR_SET,
    inference::{ModelConfig, model_instance_group::Kind},
    worker::Model,
};
use prost_reflect::{DescriptorPool, DynamicMessage};
use std::path::PathBuf;
use supervisor::Data;

pub(crate) mod supervisor;

pub(crate) fn runtime() -> &'static Runtime {
    let found = library::locate(&[], &Surroundings::own());
    let library = found.unwrap_or_else(|error| panic!("these tests need ONNX Runtime. {error}"));
    let sink = |severity: Severity, line: &str| eprintln!("onnxruntime: {severity:?}: {line}");
    Runtime::load(&library.file, Severity::Error, sink).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn model_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(format!("{name}.onnx"))
}

/// A session of one thread for a committed model.
pub(crate) fn session(name: &str) -> Session {
    let mut options = SessionOptions::new(runtime()).unwrap();
    options.set_intra_threads(1).unwrap();
    Session::open(&model_file(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A configuration from the text that people write.
pub(crate) fn config(text: &str) -> ModelConfig {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let descriptor = pool.get_message_by_name("inference.ModelConfig").unwrap();
    DynamicMessage::parse_text_format(descriptor, text).unwrap().transcode_to().unwrap()
}

/// A committed model under a configuration, as a worker is told of it.
pub(crate) fn model(file: &str, text: &str) -> Model {
    let mut config = config(text);
    config.name = format!("{file}_model");
    if config.default_model_filename.is_empty() {
        config.default_model_filename = format!("{file}.onnx");
    }
    let folder = model_file(file).parent().unwrap().to_str().unwrap().to_owned();
    Model {
        name: config.name.clone(),
        version: 1,
        directory: folder.clone(),
        version_directory: folder,
        instance_name: format!("{file}_0"),
        kind: Kind::Cpu.into(),
        config: Some(config),
        ..Model::default()
    }
}

pub(crate) fn floats(shape: &[i64], values: &[f32]) -> Data {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Data { datatype: DataType::Fp32, shape: shape.to_vec(), bytes }
}

pub(crate) fn longs(shape: &[i64], values: &[i64]) -> Data {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Data { datatype: DataType::Int64, shape: shape.to_vec(), bytes }
}

pub(crate) fn texts(shape: &[i64], values: &[&[u8]]) -> Data {
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
        bytes.extend(*value);
    }
    Data { datatype: DataType::Bytes, shape: shape.to_vec(), bytes }
}
