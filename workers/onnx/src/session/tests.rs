//! Describing and loading, as the supervisor asks for it.

use crate::testing::{config, model, model_file, supervisor::Supervisor};
use nereid_worker::{ErrorCode, proto::worker::log::Level};
use std::fs;

#[test]
fn a_model_tells_its_tensors_in_full() {
    let mut supervisor = Supervisor::start();
    let facts = supervisor.describe(model("add_sub", "")).unwrap().unwrap();
    let text = |fact: &nereid_worker::proto::worker::TensorFact| {
        (fact.name.clone(), fact.data_type().as_str_name(), fact.shape.clone())
    };
    assert_eq!(
        facts.inputs.iter().map(text).collect::<Vec<_>>(),
        [("INPUT0".to_owned(), "TYPE_FP32", vec![-1, 16]), ("INPUT1".to_owned(), "TYPE_FP32", vec![-1, 16]),]
    );
    assert_eq!(facts.outputs.len(), 2);
    supervisor.stop();
}

#[test]
fn scalars_and_strings_are_described() {
    let mut supervisor = Supervisor::start();
    let facts = supervisor.describe(model("total", "")).unwrap().unwrap();
    assert_eq!(facts.outputs[0].shape, [0_i64; 0]);
    supervisor.stop();
    let mut supervisor = Supervisor::start();
    let facts = supervisor.describe(model("identity_string", "")).unwrap().unwrap();
    assert_eq!(facts.inputs[0].data_type().as_str_name(), "TYPE_STRING");
    supervisor.stop();
}

#[test]
fn a_complete_configuration_needs_no_description() {
    let mut supervisor = Supervisor::start();
    let text = "
        input { name: 'INPUT0' data_type: TYPE_FP32 dims: 16 }
        output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 16 }";
    // The file is not even looked at.
    let mut model = model("add_sub", text);
    model.version_directory = "/nowhere".to_owned();
    assert!(supervisor.describe(model).unwrap().is_none());
    let logged = supervisor.stop();
    assert_eq!(
        logged[0].message,
        "skipping model configuration auto-complete for 'add_sub_model': inputs and outputs already specified"
    );
}

#[test]
fn a_described_model_is_loaded_from_the_same_session() {
    let folder = std::env::temp_dir().join(format!("nereid-onnx-described-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::copy(model_file("add_sub"), folder.join("model.onnx")).unwrap();
    let mut model = model("add_sub", "default_model_filename: 'model.onnx'");
    model.version_directory = folder.to_str().unwrap().to_owned();
    let mut supervisor = Supervisor::start();
    supervisor.describe(model.clone()).unwrap().unwrap();
    // Whoever read the file again would fail.
    fs::write(folder.join("model.onnx"), "no model").unwrap();
    let config = model.config.as_mut().unwrap();
    config.max_batch_size = 8;
    config.input = complete().input;
    config.output = complete().output;
    supervisor.load(model).unwrap();
    supervisor.stop();
    fs::remove_dir_all(&folder).unwrap();
}

fn complete() -> nereid_worker::proto::inference::ModelConfig {
    config(
        "input { name: 'INPUT0' data_type: TYPE_FP32 dims: 16 }
        input { name: 'INPUT1' data_type: TYPE_FP32 dims: 16 }
        output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 16 }",
    )
}

#[test]
fn a_folder_may_stand_for_the_file() {
    let folder = std::env::temp_dir().join(format!("nereid-onnx-folder-{}", std::process::id()));
    fs::create_dir_all(folder.join("model.onnx")).unwrap();
    fs::copy(model_file("add_sub"), folder.join("model.onnx/model.onnx")).unwrap();
    let mut model = model("add_sub", "default_model_filename: 'model.onnx'");
    model.version_directory = folder.to_str().unwrap().to_owned();
    let mut supervisor = Supervisor::start();
    assert!(supervisor.describe(model).unwrap().is_some());
    supervisor.stop();
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_missing_file_is_named() {
    let mut supervisor = Supervisor::start();
    let mut model = model("add_sub", "");
    model.config.as_mut().unwrap().default_model_filename = "other.onnx".to_owned();
    let failure = supervisor.load(model).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Unavailable);
    assert!(failure.message.starts_with("unable to find '"), "{}", failure.message);
    assert!(
        failure.message.ends_with("/other.onnx' for model instance 'add_sub_model'"),
        "{}",
        failure.message
    );
    supervisor.stop();
}

#[test]
fn a_file_that_is_no_model_is_refused_by_the_library() {
    let mut supervisor = Supervisor::start();
    let mut model = model("add_sub", "");
    model.config.as_mut().unwrap().default_model_filename = "make.py".to_owned();
    let failure = supervisor.load(model).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Internal);
    assert!(failure.message.starts_with("onnx runtime error 7: "), "{}", failure.message);
    supervisor.stop();
}

#[test]
fn a_sequence_cannot_be_described() {
    let mut supervisor = Supervisor::start();
    let failure = supervisor.describe(model("sequence", "")).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::Unsupported);
    assert_eq!(
        failure.message,
        "Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 'OUTPUT', expected 'ONNX_TYPE_TENSOR'."
    );
    supervisor.stop();
}

#[test]
fn a_configuration_that_does_not_fit_fails_the_load() {
    let mut supervisor = Supervisor::start();
    let failure = supervisor.load(model("add_sub", "input { name: 'INPUT0' data_type: TYPE_FP32 dims: 16 }"));
    let failure = failure.unwrap_err();
    assert_eq!(failure.code(), ErrorCode::InvalidArg);
    assert_eq!(
        failure.message,
        "unable to load model 'add_sub_model', configuration expects 1 inputs, model provides 2"
    );
    supervisor.stop();
}

#[test]
fn a_library_that_is_named_and_missing_fails_the_load() {
    for (parameter, setting, told) in [
        (Some("nowhere.so"), None, "the model's parameter onnxruntime_library names '"),
        (None, Some("/nowhere"), "--backend-config=onnxruntime,library names '/nowhere'"),
    ] {
        let mut model = model("add_sub", "");
        if let Some(path) = parameter {
            let value = nereid_worker::proto::inference::ModelParameter { string_value: path.to_owned() };
            model.config.as_mut().unwrap().parameters.insert("onnxruntime_library".to_owned(), value);
        }
        if let Some(path) = setting {
            model.backend_config.insert("library".to_owned(), path.to_owned());
        }
        let mut supervisor = Supervisor::start();
        let failure = supervisor.load(model).unwrap_err();
        assert_eq!(failure.code(), ErrorCode::Unavailable);
        assert!(failure.message.contains(told), "{}", failure.message);
        supervisor.stop();
    }
}

#[test]
fn settings_are_told_to_the_log() {
    let text = "
        parameters { key: 'enable_mem_arena' value { string_value: '1' } }
        input { name: 'INPUT0' data_type: TYPE_FP32 dims: [ -1, 16 ] }
        input { name: 'INPUT1' data_type: TYPE_FP32 dims: [ -1, 16 ] }";
    let mut supervisor = Supervisor::start();
    supervisor.load(model("add_sub", text)).unwrap();
    let logged = supervisor.stop();
    let line = logged.iter().find(|log| log.message == "Configuring enable_mem_arena to 1").unwrap();
    assert_eq!(line.level(), Level::Verbose);
}
