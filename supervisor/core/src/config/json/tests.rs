use super::*;
use crate::config::render;
use crate::config::tests::arbitrary::any_config;
use nereid_proto::inference::{DataType, model_config::SchedulingChoice};
use proptest::prelude::*;

fn error(text: &str) -> String {
    parse(text).unwrap_err().message
}

#[test]
fn names_enums_and_numbers_may_be_written_in_every_way_of_protobuf() {
    let raw = parse(
        r#"{"name": "m", "maxBatchSize": 8, "backend": null,
            "input": [{"name": "A", "data_type": "type_fp32", "dims": ["-1", 2, 3.0]}],
            "output": [{"name": "B", "data_type": 9}],
            "dynamic_batching": {"priority_levels": "18446744073709551615", "priority_queue_policy": {"3": {"timeout_action": "DELAY"}}},
            "parameters": {"k": {"string_value": "v"}}}"#,
    )
    .unwrap();
    assert_eq!((raw.max_batch_size, raw.backend.as_str()), (8, ""));
    assert_eq!(raw.input[0].data_type(), DataType::TypeFp32);
    assert_eq!(raw.input[0].dims, [-1, 2, 3]);
    assert_eq!(raw.output[0].data_type(), DataType::TypeInt64);
    let Some(SchedulingChoice::DynamicBatching(dynamic)) = &raw.scheduling_choice else { panic!("dynamic") };
    assert_eq!(dynamic.priority_levels, u64::MAX);
    assert!(dynamic.priority_queue_policy.contains_key(&3));
    assert_eq!(raw.parameters["k"].string_value, "v");
}

#[test]
fn errors_tell_the_place_and_what_was_expected() {
    let cases = [
        (r#"{"nam": "m"}"#, "ModelConfig has no field named 'nam'; did you mean 'name'?"),
        (
            r#"{"input": [{}, {"dims": [1, "x"]}]}"#,
            "input[1].dims[1]: expected a 64-bit integer, found a string (\"x\")",
        ),
        (
            r#"{"input": [{"data_type": "TYPE_FP23"}]}"#,
            "input[0].data_type: expected a value of DataType, found a string (\"TYPE_FP23\")",
        ),
        (
            r#"{"input": [{"data_type": 99}]}"#,
            "input[0].data_type: expected a value of DataType, found a number (99)",
        ),
        (r#"{"input": {}}"#, "input: expected a list, found an object"),
        (r#"{"max_batch_size": 2.5}"#, "max_batch_size: expected a 32-bit integer, found a number (2.5)"),
        (
            r#"{"max_batch_size": 1e300}"#,
            "max_batch_size: expected a 32-bit integer, found a number (1e+300)",
        ),
        (r#"{"name": 1}"#, "name: expected a string, found a number (1)"),
        (
            r#"{"response_cache": {"enable": "yes"}}"#,
            "response_cache.enable: expected true or false, found a string (\"yes\")",
        ),
        (
            r#"{"parameters": {"k": {"value": 1}}}"#,
            "parameters[\"k\"]: ModelParameter has no field named 'value'",
        ),
        (
            r#"{"dynamic_batching": {}, "sequence_batching": {}}"#,
            "'sequence_batching' and 'dynamic_batching' exclude each other",
        ),
        (r#"{"max_batch_size": 1, "maxBatchSize": 1}"#, "'max_batch_size' is given twice"),
        ("[]", "expected an object, found a list"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text}");
    }
    assert!(error("{\"name\": \"m\",\n}").starts_with("the configuration is no valid JSON: "));
    assert!(error("{\"name\": \"m\",\n}").contains("line 2 column 1"));
    assert!(error(&" ".repeat(MAX_TEXT + 1)).contains("at most"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_the_config_endpoint_shows_can_be_sent_back(config in any_config()) {
        let text = render::to_json(&config);
        prop_assert_eq!(parse(&text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?, config);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = parse(&text);
    }
}
