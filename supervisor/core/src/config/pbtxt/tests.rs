use super::*;
use crate::config::tests::arbitrary::any_config;
use nereid_proto::inference::{
    self as pb, model_config::SchedulingChoice, model_version_policy::PolicyChoice,
};
use proptest::prelude::*;
use prost_reflect::text_format::FormatOptions;

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn parameter(text: &str) -> String {
    let raw = parse(&format!(r#"parameters {{ key: "k" value {{ string_value: {text} }} }}"#)).unwrap();
    raw.parameters["k"].string_value.clone()
}

/// As found in model repositories: lists of messages without a colon, separators or none, comments.
const USUAL: &str = r#"
# A comment before anything.
name: "resnet"   # and one behind
platform: 'onnxruntime_onnx'
max_batch_size: 8;
version_policy: { specific { versions: [1, 3] }}
input [
  {
    name: "data"
    data_type: TYPE_FP32
    format: FORMAT_NCHW
    dims: [ 3, 224, -1 ]
  },
  { name: "scale", data_type: TYPE_FP16, dims: 1, reshape: { shape: [ ] } }
]
output < name: "prob" data_type: TYPE_INT64 dims: 10 dims: 0x10 label_filename: "labels.txt" >
instance_group [ { kind: KIND_CPU count: 2 }, { kind: KIND_GPU gpus: [ 0, 1 ] } ]
instance_group { count: 1 }
dynamic_batching { preferred_batch_size: [ 4, 010 ] priority_queue_policy { key: 2 value { timeout_action: DELAY } } }
parameters: { key: "a" value: { string_value: "1" } }
parameters [ { key: "b", value { string_value: "2" } } ]
model_warmup [{ name: "w" inputs { key: "data" value { data_type: TYPE_FP32 zero_data: false } } }]
model_metrics { metric_control { histogram_options { buckets: [ -1.5e2, .5, 3, 1.f, inf ] } } }
"#;

#[test]
fn the_usual_ways_to_write_a_configuration_are_understood() {
    let raw = parse(USUAL).unwrap();
    assert_eq!(
        (raw.name.as_str(), raw.platform.as_str(), raw.max_batch_size),
        ("resnet", "onnxruntime_onnx", 8)
    );
    let Some(PolicyChoice::Specific(specific)) = &raw.version_policy.as_ref().unwrap().policy_choice else {
        panic!("specific")
    };
    assert_eq!(specific.versions, [1, 3]);
    assert_eq!(raw.input.len(), 2);
    assert_eq!(raw.input[0].dims, [3, 224, -1]);
    assert_eq!(raw.input[0].format(), pb::model_input::Format::Nchw);
    assert_eq!(raw.input[1].reshape, Some(pb::ModelTensorReshape::default()));
    assert_eq!(raw.output[0].dims, [10, 16]);
    assert_eq!(raw.instance_group.len(), 3);
    assert_eq!(raw.instance_group[1].gpus, [0, 1]);
    let Some(SchedulingChoice::DynamicBatching(dynamic)) = &raw.scheduling_choice else { panic!("dynamic") };
    assert_eq!(dynamic.preferred_batch_size, [4, 8]);
    assert_eq!(
        dynamic.priority_queue_policy[&2].timeout_action(),
        pb::model_queue_policy::TimeoutAction::Delay
    );
    assert_eq!(raw.parameters.len(), 2);
    let metrics = raw.model_metrics.unwrap();
    let pb::model_metrics::metric_control::MetricOptions::HistogramOptions(options) =
        metrics.metric_control[0].metric_options.clone().unwrap();
    assert_eq!(options.buckets, [-150.0, 0.5, 3.0, 1.0, f64::INFINITY]);
    let warmup = &raw.model_warmup[0].inputs["data"];
    assert_eq!(warmup.input_data_type, Some(pb::model_warmup::input::InputDataType::ZeroData(false)));
}

#[test]
fn a_text_without_fields_is_an_empty_configuration() {
    assert_eq!(parse("").unwrap(), RawConfig::default());
    assert_eq!(parse("\u{feff} # nothing").unwrap(), RawConfig::default());
}

#[test]
fn strings_come_in_pieces_and_with_escapes() {
    assert_eq!(parameter(r#""a" 'b"' "\x41\102\u00e9\U0001F600\t\\\'""#), "ab\"ABé😀\t\\'");
    assert_eq!(parameter(r#""grüße \0""#), "grüße \0");
}

#[test]
fn later_entries_of_a_map_replace_earlier_ones() {
    let raw =
        parse(r#"metric_tags { key: "a" value: "1" } metric_tags { key: "a" value: "2" } metric_tags {}"#)
            .unwrap();
    assert_eq!(raw.metric_tags["a"], "2");
    assert_eq!(raw.metric_tags[""], "");
}

#[test]
fn errors_tell_line_column_and_what_was_expected() {
    let cases = [
        (
            "name: \"a\"\n  max_batchsize: 8",
            "line 2, column 3: ModelConfig has no field named 'max_batchsize'; did you mean 'max_batch_size'?",
        ),
        ("input [ { colour: 1 } ]", "line 1, column 11: ModelInput has no field named 'colour'"),
        (
            "input { data_type: TYPE_FP3 }",
            "line 1, column 20: 'data_type' has no value 'TYPE_FP3'; did you mean 'TYPE_FP32'?",
        ),
        ("input { data_type: 99 }", "line 1, column 20: 'data_type' has no value numbered 99"),
        (
            "input { data_type: \"TYPE_FP32\" }",
            "line 1, column 20: expected a 32-bit integer, found the string \"TYPE_FP32\"",
        ),
        ("name: \"a\" name: \"b\"", "line 1, column 11: 'name' is given twice"),
        (
            "dynamic_batching {} sequence_batching {}",
            "line 1, column 21: 'sequence_batching' and 'dynamic_batching' exclude each other",
        ),
        ("max_batch_size 8", "line 1, column 16: expected ':' after 'max_batch_size', found '8'"),
        ("max_batch_size: 8x", "line 1, column 17: expected a 32-bit integer, found '8x'"),
        ("max_batch_size: 1.0", "line 1, column 17: expected a 32-bit integer, found '1.0'"),
        ("max_batch_size: 3000000000", "line 1, column 17: 3000000000 is no value of a 32-bit integer"),
        ("max_batch_size: [ 8 ]", "line 1, column 17: 'max_batch_size' takes one value, not a list"),
        (
            "ensemble_scheduling { max_inflight_requests: -1 }",
            "line 1, column 46: -1 is no value of an unsigned 32-bit integer",
        ),
        ("input [ { name: \"a\" }, ]", "line 1, column 24: expected '{', found ']'"),
        ("input [ { name: \"a\" } { name: \"b\" } ]", "line 1, column 23: expected ',' or ']', found '{'"),
        (
            "input { name: \"a\"",
            "line 1, column 18: expected a field's name or '}', found the end of the text",
        ),
        ("input { name: \"a\" >", "line 1, column 19: expected a field's name or '}', found '>'"),
        ("name: \"a\n\"", "line 1, column 7: the string is not closed on its line"),
        ("name: \"\\q\"", "line 1, column 8: unknown escape in a string; write '\\\\' for a backslash"),
        ("name: \"\\xff\"", "line 1, column 7: the string is not valid UTF-8"),
        ("name: \"\\777\"", "line 1, column 8: the escape in the string names no byte (0 to 255)"),
        ("name: \"\\u12\"", "line 1, column 8: the escape needs 4 digits that name a character"),
        ("name: abc", "line 1, column 7: expected a string in quotes, found 'abc'"),
        ("input { optional: yes }", "line 1, column 19: expected 'true' or 'false', found 'yes'"),
        (
            "model_metrics { metric_control { histogram_options { buckets: 0x10 } } }",
            "line 1, column 63: expected a number, found '0x10'",
        ),
        ("# ü\n$", "line 2, column 1: unexpected character '$'"),
        (
            "'ü' ü",
            "line 1, column 1: expected a field's name or the end of the text, found the string \"\\xc3\\xbc\"",
        ),
        ("}", "line 1, column 1: expected a field's name or the end of the text, found '}'"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn a_text_beyond_the_limit_is_refused() {
    assert!(error(&" ".repeat(MAX_TEXT + 1)).contains("at most"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_another_writer_wrote_is_read_back_with_every_field(config in any_config(), pretty in any::<bool>()) {
        let options = FormatOptions::new().pretty(pretty);
        let text = schema::to_dynamic(&config).to_text_format_with_options(&options);
        prop_assert_eq!(parse(&text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?, config);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in prop_oneof![any::<String>(), r#"[a-z0-9_{}\[\]<>:,;"'\\x. \n-]{0,60}"#]) {
        let _ = parse(&text);
        let _ = parse(&format!("input [ {{ name: {text}"));
    }
}
