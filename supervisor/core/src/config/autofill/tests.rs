use super::*;
use crate::config::pbtxt;

fn listing(files: &[&str]) -> Listing {
    let kind = |name: &str| if name.ends_with('/') { EntryKind::Directory } else { EntryKind::File };
    Listing {
        entries: files.iter().map(|name| (name.trim_end_matches('/').to_owned(), kind(name))).collect(),
    }
}

/// Backend, platform and file name after completion.
fn filled(text: &str, files: &[&str]) -> (String, String, String) {
    let mut raw = pbtxt::parse(text).unwrap();
    autofill(&mut raw, "model.suffix", Some(&listing(files))).unwrap();
    (raw.backend, raw.platform, raw.default_model_filename)
}

#[test]
fn backend_platform_and_file_name_follow_from_each_other_and_from_the_files() {
    let cases: [(&str, &[&str], [&str; 3]); 34] = [
        // TensorFlow, which is named by its platform or its file.
        ("", &["model.savedmodel/"], ["tensorflow", "tensorflow_savedmodel", "model.savedmodel"]),
        ("", &["model.graphdef"], ["tensorflow", "tensorflow_graphdef", "model.graphdef"]),
        (
            "",
            &["model.savedmodel/", "model.graphdef"],
            ["tensorflow", "tensorflow_graphdef", "model.graphdef"],
        ),
        ("", &["model.savedmodel"], ["suffix", "", "model.suffix"]),
        (
            "backend: 'tensorflow'",
            &["model.graphdef"],
            ["tensorflow", "tensorflow_graphdef", "model.graphdef"],
        ),
        ("backend: 'tensorflow'", &[], ["tensorflow", "", ""]),
        (
            "platform: 'tensorflow_savedmodel'",
            &[],
            ["tensorflow", "tensorflow_savedmodel", "model.savedmodel"],
        ),
        (
            "default_model_filename: 'model.graphdef'",
            &[],
            ["tensorflow", "tensorflow_graphdef", "model.graphdef"],
        ),
        // TensorRT.
        ("", &["model.plan"], ["tensorrt", "tensorrt_plan", "model.plan"]),
        ("", &["model.plan/"], ["suffix", "", "model.suffix"]),
        ("platform: 'tensorrt_plan'", &[], ["tensorrt", "tensorrt_plan", "model.plan"]),
        ("platform: 'tensorrt_plan' default_model_filename: 'a'", &[], ["tensorrt", "tensorrt_plan", "a"]),
        ("default_model_filename: 'model.plan'", &[], ["tensorrt", "tensorrt_plan", "model.plan"]),
        // ONNX, as a file or as a directory.
        ("", &["model.onnx"], ["onnxruntime", "onnxruntime_onnx", "model.onnx"]),
        ("", &["model.onnx/"], ["onnxruntime", "onnxruntime_onnx", "model.onnx"]),
        ("backend: 'onnxruntime'", &[], ["onnxruntime", "onnxruntime_onnx", "model.onnx"]),
        ("platform: 'onnxruntime_onnx'", &["model.pt"], ["onnxruntime", "onnxruntime_onnx", "model.onnx"]),
        // OpenVINO has no platform.
        ("", &["model.xml", "model.bin"], ["openvino", "", "model.xml"]),
        ("backend: 'openvino'", &[], ["openvino", "", "model.xml"]),
        // PyTorch.
        ("", &["model.pt"], ["pytorch", "pytorch_libtorch", ""]),
        ("default_model_filename: 'model.pt'", &[], ["pytorch", "pytorch_libtorch", "model.pt"]),
        ("", &["model.pt2"], ["pytorch", "torch_aoti", "model.pt2"]),
        ("", &["model.pt", "model.pt2"], ["pytorch", "pytorch_libtorch", ""]),
        ("backend: 'pytorch'", &[], ["pytorch", "pytorch_libtorch", "model.pt"]),
        ("platform: 'pytorch_libtorch'", &[], ["pytorch", "pytorch_libtorch", ""]),
        ("platform: 'libtorch'", &[], ["pytorch", "libtorch", ""]),
        ("platform: 'torch_aoti'", &[], ["pytorch", "torch_aoti", "model.pt2"]),
        ("default_model_filename: 'model.pt2'", &[], ["pytorch", "torch_aoti", "model.pt2"]),
        // Python.
        ("", &["model.py"], ["python", "", "model.py"]),
        ("backend: 'python' default_model_filename: 'a.py'", &[], ["python", "", "a.py"]),
        ("default_model_filename: 'model.py'", &[], ["python", "", "model.py"]),
        // Others.
        ("", &["model.other"], ["suffix", "", "model.suffix"]),
        ("backend: 'mine'", &["model.onnx"], ["mine", "", ""]),
        ("platform: 'ensemble'", &[], ["", "ensemble", ""]),
    ];
    for (text, files, expected) in cases {
        let (backend, platform, file) = filled(text, files);
        assert_eq!([backend.as_str(), &platform, &file], expected, "{text} {files:?}");
    }
}

#[test]
fn the_directory_names_the_model_unless_the_configuration_does() {
    let mut raw = RawConfig { backend: "b".to_owned(), ..Default::default() };
    autofill(&mut raw, "directory", None).unwrap();
    assert_eq!(raw.name, "directory");
    let mut raw = RawConfig { name: "own".to_owned(), ..raw };
    autofill(&mut raw, "directory", None).unwrap();
    assert_eq!(raw.name, "own");
}

#[test]
fn a_model_that_nothing_tells_the_backend_of_is_refused() {
    let error = autofill(&mut RawConfig::default(), "resnet", Some(&listing(&["weights.bin"]))).unwrap_err();
    assert_eq!(
        error,
        ServeError::invalid(
            "Invalid model name: Could not determine backend for model 'resnet' with no backend in model \
             configuration. Expected model name of the form 'model.<backend_name>'."
        )
    );
}

#[test]
fn only_version_directories_are_looked_into_the_first_by_its_text() {
    assert_eq!(directory_to_list(["2", "10", "configs", "warmup"]), Some("10"));
    assert_eq!(directory_to_list(["configs", "1abc"]), None);
}
