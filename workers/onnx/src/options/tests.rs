//! Settings from configurations, without a library; and that the library takes what comes of them.

use super::{GraphLevel, Place, Settings};
use crate::{
    ffi::session::Session,
    testing::{config, model_file, runtime},
};
use nereid_proto::inference::model_instance_group::Kind;
use nereid_worker::ErrorCode;
use std::collections::BTreeMap;

const CPU: Place = Place { kind: Kind::Cpu, device: 0, cpus: 8 };
const GPU: Place = Place { kind: Kind::Gpu, device: 3, cpus: 8 };

fn read(text: &str, backend: &[(&str, &str)], place: Place) -> Settings {
    let backend = backend.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let mut config = config(text);
    config.name = "model".to_owned();
    Settings::read(&config, &backend, place).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str, place: Place) -> String {
    let mut config = config(text);
    config.name = "model".to_owned();
    let error = Settings::read(&config, &BTreeMap::new(), place).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArg);
    error.message
}

fn parameter(key: &str, value: &str) -> String {
    format!("parameters {{ key: '{key}' value {{ string_value: '{value}' }} }}")
}

fn accelerator(kind: &str, name: &str, parameters: &[(&str, &str)]) -> String {
    let parameters: Vec<String> = parameters
        .iter()
        .map(|(key, value)| format!("parameters {{ key: '{key}' value: '{value}' }}"))
        .collect();
    format!(
        "optimization {{ execution_accelerators {{ {kind}_execution_accelerator {{ name: '{name}' {} }} }} }}",
        parameters.join(" ")
    )
}

#[test]
fn the_graph_level_is_the_configurations() {
    let level =
        |level: i32| read(&format!("optimization {{ graph {{ level: {level} }} }}"), &[], CPU).graph.0;
    assert_eq!(read("", &[], CPU).graph.0, GraphLevel::All);
    assert_eq!(
        [-1, 0, 1, 2].map(level),
        [GraphLevel::Basic, GraphLevel::All, GraphLevel::Extended, GraphLevel::None]
    );
}

#[test]
fn instances_share_the_cpus() {
    let threads = |text: &str, place: Place| read(text, &[], place).intra_threads;
    assert_eq!(threads("", CPU), 4, "two instances where the configuration does not say");
    assert_eq!(threads("instance_group { count: 1 kind: KIND_CPU }", CPU), 8);
    assert_eq!(threads("instance_group { count: 3 kind: KIND_CPU }", CPU), 2);
    assert_eq!(threads("instance_group { count: 100 kind: KIND_CPU }", CPU), 1);
    assert_eq!(threads("instance_group { count: 2 gpus: [ 0, 1 ] kind: KIND_GPU }", GPU), 2);
}

#[test]
fn thread_counts_come_from_the_model_then_the_backend() {
    let of_model = parameter("intra_op_thread_count", "3");
    let of_backend = [("intra_op_thread_count", "5"), ("inter_op_thread_count", "6")];
    assert_eq!(read(&of_model, &[], CPU).intra_threads, 3);
    assert_eq!(read(&of_model, &of_backend, CPU).intra_threads, 3);
    assert_eq!(read("", &of_backend, CPU).intra_threads, 5);
    assert_eq!(read("", &of_backend, CPU).inter_threads, 6);
    let global = [&of_backend[..], &[("enable-global-threadpool", "1")]].concat();
    assert_eq!(read(&of_model, &global, CPU).intra_threads, 5);
    assert_eq!(read(&parameter("intra_op_thread_count", "0"), &[], CPU).intra_threads, 0);
}

#[test]
fn wrong_values_are_refused_in_the_words_that_are_known() {
    assert_eq!(
        refused(&parameter("execution_mode", "2"), CPU),
        "Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got 2 ."
    );
    assert_eq!(
        refused(&parameter("intra_op_thread_count", "many"), CPU),
        "failed to convert 'many' to integral number"
    );
    assert_eq!(refused(&parameter("enable_mem_arena", "maybe"), CPU), "failed to convert 'maybe' to boolean");
    assert_eq!(
        refused(&parameter("arena_extend_strategy", "2"), CPU),
        "unsupported arena_extend_strategy value '2' is requested"
    );
    assert_eq!(
        refused(&parameter("cudnn_conv_algo_search", "3"), GPU),
        "unsupported cudnn_conv_algo_search value '3' is requested"
    );
}

#[test]
fn entries_go_to_the_session_or_to_its_runs() {
    let text = [
        parameter("session.use_device_allocator_for_initializers", "1"),
        parameter("session.force_spinning_stop", "0"),
        parameter("optimization.minimal_build_optimizations", "save"),
        parameter("memory.enable_memory_arena_shrinkage", "cpu:0"),
        parameter("something_else", "1"),
    ]
    .join(" ");
    let settings = read(&text, &[], CPU);
    let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        settings.session_entries,
        [
            entry("optimization.minimal_build_optimizations", "save"),
            entry("session.force_spinning_stop", "0"),
            entry("session.use_device_allocator_for_initializers", "1"),
        ]
    );
    assert_eq!(settings.run_entries, [entry("memory.enable_memory_arena_shrinkage", "cpu:0")]);
    let notes: Vec<&str> = settings.notes().collect();
    assert!(
        notes.contains(&"Configuring 'session.use_device_allocator_for_initializers' to '1' for 'model'"),
        "{notes:?}"
    );
    assert!(notes.contains(&"Configuring memory.enable_memory_arena_shrinkage to cpu:0"), "{notes:?}");
}

#[test]
fn an_arena_limit_makes_the_session_use_the_limited_arena() {
    let settings = read(&parameter("cpu_mem_limit", "1000000"), &[], CPU);
    assert_eq!(settings.arena, [(c"max_mem", 1_000_000)]);
    assert!(settings.session_entries.contains(&("session.use_env_allocators".to_owned(), "1".to_owned())));
}

#[test]
fn accelerators_of_gpus_are_for_instances_on_gpus() {
    let text =
        accelerator("gpu", "tensorrt", &[("precision_mode", "FP16"), ("trt_engine_cache_enable", "true")]);
    assert!(!read(&text, &[], CPU).wants_gpu());
    let settings = read(&text, &[], GPU);
    assert!(settings.wants_gpu());
    let notes: Vec<&str> = settings.notes().collect();
    assert_eq!(
        notes,
        [
            "TensorRT Execution Accelerator is set for 'model' on device 3",
            "CUDA Execution Accelerator is set for 'model' on device 3",
        ]
    );
    let debug = format!("{:?}", settings.accelerators);
    for part in
        [r#"("trt_fp16_enable", "1")"#, r#"("trt_engine_cache_enable", "true")"#, r#"("device_id", "3")"#]
    {
        assert!(debug.contains(part), "{part} in {debug}");
    }
}

#[test]
fn cuda_options_may_be_parameters_of_the_model() {
    let text = [
        accelerator("gpu", "cuda", &[("cudnn_conv_use_max_workspace", "0")]),
        parameter("gpu_mem_limit", "4294967200"),
        parameter("arena_extend_strategy", "1"),
        parameter("cudnn_conv_algo_search", "1"),
    ]
    .join(" ");
    let settings = read(&text, &[], GPU);
    let debug = format!("{:?}", settings.accelerators);
    for part in [
        r#"("cudnn_conv_use_max_workspace", "0")"#,
        r#"("gpu_mem_limit", "4294967200")"#,
        r#"("arena_extend_strategy", "kSameAsRequested")"#,
        r#"("cudnn_conv_algo_search", "HEURISTIC")"#,
    ] {
        assert!(debug.contains(part), "{part} in {debug}");
    }
    assert!(settings.arena.is_empty(), "the parameter speaks of the GPU there");
}

#[test]
fn wrong_accelerators_are_refused_in_the_words_that_are_known() {
    assert_eq!(
        refused(&accelerator("gpu", "unknown_gpu", &[]), GPU),
        "unknown Execution Accelerator 'unknown_gpu' is requested"
    );
    assert_eq!(
        refused(&accelerator("cpu", "abacus", &[]), CPU),
        "unknown Execution Accelerator 'abacus' is requested"
    );
    assert_eq!(
        refused(&accelerator("gpu", "tensorrt", &[("segment_size", "1")]), GPU),
        "unknown parameter 'segment_size' is provided for TensorRT Execution Accelerator"
    );
    assert_eq!(
        refused(&accelerator("gpu", "tensorrt", &[("max_workspace_size_bytes", "abc")]), GPU),
        "failed to convert 'abc' to unsigned long long integral number"
    );
    assert_eq!(
        refused(&accelerator("gpu", "tensorrt", &[("precision_mode", "FP8")]), GPU),
        "unsupported precision mode 'FP8' is requested"
    );
}

#[test]
fn the_library_takes_all_settings_for_cpus() {
    let text = [
        "optimization { graph { level: 1 } }".to_owned(),
        parameter("execution_mode", "1"),
        parameter("intra_op_thread_count", "2"),
        parameter("inter_op_thread_count", "2"),
        parameter("enable_mem_arena", "0"),
        parameter("enable_mem_pattern", "false"),
        parameter("cpu_mem_limit", "100000000"),
        parameter("arena_extend_strategy", "1"),
        parameter("memory.enable_memory_arena_shrinkage", "cpu:0"),
    ]
    .join(" ");
    let settings = read(&text, &[], CPU);
    let options = settings.session_options(runtime()).unwrap();
    Session::open(&model_file("add_sub"), &options).unwrap();
    settings.run_options(runtime()).unwrap();
}

#[test]
fn a_library_without_the_provider_is_named_with_the_wheel_that_has_it() {
    let runtime = runtime();
    let available = runtime.providers().unwrap();
    let cases = [
        ("CUDAExecutionProvider", String::new(), GPU, "CUDA", "pip install onnxruntime-gpu"),
        (
            "OpenVINOExecutionProvider",
            accelerator("cpu", "openvino", &[]),
            CPU,
            "OpenVINO",
            "onnxruntime-openvino",
        ),
    ];
    for (name, text, place, people, wheel) in cases {
        if available.iter().any(|available| available == name) {
            continue;
        }
        let error = read(&text, &[], place).session_options(runtime).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unsupported);
        for part in [people, wheel, runtime.version(), runtime.path().to_str().unwrap()] {
            assert!(error.message.contains(part), "{part} in {error}");
        }
    }
}
