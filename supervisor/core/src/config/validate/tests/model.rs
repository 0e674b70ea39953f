use super::*;

#[test]
fn names_platforms_and_backends_belong_together() {
    refuses_with(
        "",
        &facts(&[]),
        &[
            ("backend: 'b'", "model configuration must specify 'name'"),
            ("name: 'm'", "unexpected platform type '' for m"),
            ("name: 'm' platform: 'p'", "unexpected platform type 'p' for m"),
            ("name: 'm' backend: 'tensorflow'", "unexpected 'platform' and 'backend' pair, got:, tensorflow"),
            (
                "name: 'm' backend: 'tensorrt' platform: 'onnxruntime_onnx'",
                "unexpected 'platform' and 'backend' pair, got:onnxruntime_onnx, tensorrt",
            ),
            (
                "name: 'm' backend: 'onnxruntime' platform: 'onnxruntim'",
                "unexpected 'platform' and 'backend' pair, got:onnxruntim, onnxruntime",
            ),
            (
                "name: 'm' backend: 'pytorch' platform: 'libtorch'",
                "unexpected 'platform' and 'backend' pair, got:libtorch, pytorch",
            ),
        ],
    );
    accepts(
        "name: 'm'",
        &facts(&[]),
        &[
            "backend: 'tensorflow' platform: 'tensorflow_graphdef'",
            "backend: 'tensorflow' platform: 'tensorflow_savedmodel'",
            "backend: 'tensorrt' platform: 'tensorrt_plan'",
            "backend: 'onnxruntime' platform: 'onnxruntime_onnx'",
            "backend: 'pytorch' platform: 'pytorch_libtorch'",
            "backend: 'pytorch' platform: 'torch_aoti'",
            "backend: 'mine' platform: 'onnxruntime_onnx'",
        ],
    );
}

#[test]
fn an_ensemble_has_no_backend_and_is_scheduled_as_one() {
    let steps = "input { name: 'a' data_type: TYPE_INT8 dims: 1 } output { name: 'b' data_type: TYPE_INT8 dims: 1 }
        ensemble_scheduling { step { model_name: 'x' input_map { key: 'i' value: 'a' } output_map { key: 'o' value: 'b' } } }";
    accepts("name: 'm' platform: 'ensemble'", &facts(&[]), &[steps]);
    refuses_with(
        &format!("name: 'm' platform: 'ensemble' {steps}"),
        &facts(&[]),
        &[("backend: 'b'", "Ensemble model 'm' must have platform type 'ensemble' and empty backend type")],
    );
    let raw = completed("name: 'm' platform: 'ensemble'", &facts(&[]));
    assert_eq!(
        validate(&raw, &facts(&[])).unwrap_err().message,
        "ensemble scheduling must be set for ensemble m whose platform is ensemble"
    );
}

#[test]
fn a_version_policy_is_there_after_normalisation() {
    let mut raw = completed(BASE, &facts(&[]));
    raw.version_policy = None;
    assert_eq!(messages(&raw, &facts(&[])), ["must specify 'version policy' for m"]);
}

#[test]
fn batch_sizes_and_queues_make_sense() {
    refuses_with(
        "name: 'm' backend: 'b'",
        &facts(&[]),
        &[("max_batch_size: -1", "'max_batch_size' must be non-negative value for m")],
    );
    let in_range = "priority_levels: 3 default_priority_level: 3";
    refuses(&[
        (
            "dynamic_batching { preferred_batch_size: [ 4, 0 ] }",
            "dynamic batching preferred size must be positive for m",
        ),
        (
            "dynamic_batching { preferred_batch_size: [ 8, 9 ] }",
            "dynamic batching preferred size must be <= max batch size for m",
        ),
        (
            "dynamic_batching { priority_levels: 3 }",
            "default priority level must be in range [1, 3] for m",
        ),
        (
            "dynamic_batching { priority_levels: 3 default_priority_level: 4 }",
            "default priority level must be in range [1, 3] for m",
        ),
        (
            &format!("dynamic_batching {{ {in_range} priority_queue_policy {{ key: 4 value {{}} }} }}"),
            "priority queue policy must have priority level in range [1, 3] for m",
        ),
        (
            &format!("dynamic_batching {{ {in_range} priority_queue_policy {{ key: 0 value {{}} }} }}"),
            "priority queue policy must have priority level in range [1, 3] for m",
        ),
        (
            &format!("dynamic_batching {{ {in_range} preserve_ordering: true }}"),
            "Only one priority level is allowed when 'preserve_ordering' is true for m",
        ),
        (
            "dynamic_batching { preserve_ordering: true
               default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 } }",
            "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
        ),
        (
            "dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1
               priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1 } } }",
            "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
        ),
    ]);
    accepts(
        BASE,
        &facts(&[]),
        &[
            "dynamic_batching { priority_levels: 3 default_priority_level: 1 priority_queue_policy { key: 3 value {} } }",
            "dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY } }",
            "dynamic_batching { default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 } }",
        ],
    );
}

#[test]
fn responses_are_cached_only_where_there_is_one_for_a_request() {
    refuses(&[
        (
            "sequence_batching {} response_cache { enable: true }",
            "Response Cache does not currently support model m with sequence batching scheduler. Please disable the \
             response cache.",
        ),
        (
            "model_transaction_policy { decoupled: true } response_cache { enable: true }",
            "Response Cache does not currently support model m with 'decoupled' transaction policy. Please disable \
             the response cache.",
        ),
    ]);
    accepts(
        BASE,
        &facts(&[]),
        &["response_cache { enable: true }", "sequence_batching {} response_cache {}"],
    );
}

#[test]
fn metrics_have_a_family_and_buckets() {
    let family = "metric_identifier { family: 'f' }";
    refuses(&[
        (
            "model_metrics { metric_control { histogram_options { buckets: 1 } } }",
            "metric control must specify 'metric_identifier'",
        ),
        (
            "model_metrics { metric_control { metric_identifier {} histogram_options { buckets: 1 } } }",
            "metric identifier must specify non-empty 'family'",
        ),
        (
            &format!("model_metrics {{ metric_control {{ {family} }} }}"),
            "metric control must specify 'histogram_options'",
        ),
        (
            &format!("model_metrics {{ metric_control {{ {family} histogram_options {{}} }} }}"),
            "histogram options must specify non-empty 'buckets'",
        ),
    ]);
    let good =
        format!("model_metrics {{ metric_control {{ {family} histogram_options {{ buckets: 1 }} }} }}");
    accepts(BASE, &facts(&[]), &[&good]);
}
