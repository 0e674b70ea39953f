use super::*;
use crate::config::{normalise, pbtxt};

/// What a config endpoint answers for an ordinary model, field by field.
const ORDINARY: &str = r#"{"name":"add_sub","platform":"onnxruntime_onnx","version_policy":{"latest":{"num_versions":1}},
"max_batch_size":8,
"input":[{"name":"INPUT0","data_type":"TYPE_FP32","format":"FORMAT_NONE","dims":[16],"reshape":{"shape":[4,4]},
"is_shape_tensor":false,"allow_ragged_batch":false,"optional":false,"is_non_linear_format_io":false}],
"output":[{"name":"OUTPUT0","data_type":"TYPE_STRING","dims":[-1],"label_filename":"","is_shape_tensor":false,
"is_non_linear_format_io":false}],
"instance_group":[{"name":"add_sub","count":2,"gpus":[],"kind":"KIND_CPU","profile":[],"passive":false,
"secondary_devices":[],"host_policy":""}],
"default_model_filename":"model.onnx","cc_model_filenames":{},"metric_tags":{},
"dynamic_batching":{"preferred_batch_size":[8],"max_queue_delay_microseconds":100,"preserve_ordering":false,
"priority_levels":0,"default_priority_level":0,"priority_queue_policy":{}},
"optimization":{"priority":"PRIORITY_DEFAULT","input_pinned_memory":{"enable":true},
"output_pinned_memory":{"enable":true},"gather_kernel_buffer_threshold":0,"eager_batching":false},
"parameters":{"a":{"string_value":"1"},"b":{"string_value":"2"}},"model_warmup":[],"backend":"onnxruntime",
"batch_input":[],"batch_output":[],"runtime":""}"#;

#[test]
fn every_field_is_printed_with_its_default() {
    let mut raw = pbtxt::parse(
        r#"name: "add_sub" platform: "onnxruntime_onnx" backend: "onnxruntime" max_batch_size: 8
           default_model_filename: "model.onnx"
           input { name: "INPUT0" data_type: TYPE_FP32 dims: 16 reshape { shape: [ 4, 4 ] } }
           output { name: "OUTPUT0" data_type: TYPE_STRING dims: -1 }
           parameters [ { key: "b" value { string_value: "2" } }, { key: "a" value { string_value: "1" } } ]
           dynamic_batching { max_queue_delay_microseconds: 100 }"#,
    )
    .unwrap();
    normalise::normalise(&mut raw);
    normalise::normalise_instance_groups(&mut raw, &Default::default(), &[]);
    assert_eq!(to_json(&raw), ORDINARY.replace('\n', ""));
}

#[test]
fn only_some_64_bit_integers_are_numbers() {
    let raw = pbtxt::parse(
        r#"
        version_policy { specific { versions: [ 2, 9007199254740993 ] } }
        sequence_batching {
          max_sequence_idle_microseconds: 5
          oldest { max_queue_delay_microseconds: 6 }
          state { dims: [ -1, 7 ] initial_state { dims: [ 8 ] zero_data: false } }
        }
        instance_group { secondary_devices { device_id: 9 } }
        optimization { cuda { graph_spec { input { key: "x" value { dim: 10 } } } } }
        model_warmup { inputs { key: "x" value { dims: [ 11 ] } } }
        "#,
    )
    .unwrap();
    let json = to_value(&raw);
    let at = |pointer: &str| json.pointer(pointer).unwrap().to_string();
    assert_eq!(at("/version_policy/specific/versions"), "[2,9007199254740993]");
    assert_eq!(at("/sequence_batching/max_sequence_idle_microseconds"), "5");
    assert_eq!(at("/sequence_batching/oldest/max_queue_delay_microseconds"), "6");
    assert_eq!(at("/sequence_batching/state/0/dims"), "[-1,7]");
    assert_eq!(at("/sequence_batching/state/0/initial_state/0/dims"), r#"["8"]"#);
    assert_eq!(at("/sequence_batching/state/0/initial_state/0/zero_data"), "false");
    assert_eq!(at("/instance_group/0/secondary_devices/0/device_id"), r#""9""#);
    assert_eq!(at("/optimization/cuda/graph_spec/0/input/x/dim"), r#"["10"]"#);
    assert_eq!(at("/model_warmup/0/inputs/x/dims"), "[11]");
}

#[test]
fn queues_priorities_steps_and_direct_sequences_are_numbers_too() {
    let dynamic = pbtxt::parse(
        r#"dynamic_batching { priority_levels: 3 default_priority_level: 2
             default_queue_policy { default_timeout_microseconds: 4 }
             priority_queue_policy [ { key: 10 value { default_timeout_microseconds: 5 } }, { key: 9 value {} } ] }"#,
    )
    .unwrap();
    let json = to_value(&dynamic)["dynamic_batching"].to_string();
    assert!(json.contains(r#""priority_levels":3,"default_priority_level":2"#), "{json}");
    assert!(json.contains(r#""default_timeout_microseconds":4"#), "{json}");
    let policies = to_value(&dynamic)["dynamic_batching"]["priority_queue_policy"].clone();
    assert_eq!(policies.as_object().unwrap().keys().collect::<Vec<_>>(), ["9", "10"]);
    assert_eq!(policies["10"]["default_timeout_microseconds"], 5);

    let ensemble = pbtxt::parse("ensemble_scheduling { step { model_version: -1 } }").unwrap();
    assert_eq!(to_value(&ensemble)["ensemble_scheduling"]["step"][0]["model_version"], -1);
    let direct = pbtxt::parse(
        "sequence_batching { direct { max_queue_delay_microseconds: 1 minimum_slot_utilization: 0.1 } }",
    );
    let direct = to_value(&direct.unwrap())["sequence_batching"]["direct"].to_string();
    assert_eq!(direct, r#"{"max_queue_delay_microseconds":1,"minimum_slot_utilization":0.1}"#);
}

#[test]
fn floats_are_short_and_whole_where_they_can_be() {
    let raw = pbtxt::parse(
        "model_metrics { metric_control { histogram_options { buckets: [ 1, 0.1, -2.5, 1e300, inf, -inf, nan ] } } }",
    );
    let json = to_value(&raw.unwrap());
    let buckets = json.pointer("/model_metrics/metric_control/0/histogram_options/buckets").unwrap();
    assert_eq!(buckets.to_string(), r#"[1,0.1,-2.5,1e+300,"Infinity","-Infinity","NaN"]"#);
}

#[test]
fn every_field_that_is_listed_exists() {
    let pool = schema::descriptor();
    let pool = pool.parent_pool();
    for name in NUMBERS {
        let (message, field) = name.rsplit_once('.').unwrap();
        let field = pool.get_message_by_name(message).and_then(|message| message.get_field_by_name(field));
        assert!(matches!(field.unwrap().kind(), Kind::Int64 | Kind::Uint64), "{name}");
    }
}

#[test]
fn there_is_one_layout() {
    assert_eq!(check_version(1), Ok(()));
    assert_eq!(
        check_version(2).unwrap_err().message,
        "model configuration version 2 not supported, supported versions are: 1"
    );
}
