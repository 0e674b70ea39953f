use super::*;
use crate::config::pbtxt;
use crate::error::ErrorKind;
use nereid_proto::worker::Nothing;

fn fact(name: &str, data_type: DataType, shape: &[i64]) -> TensorFact {
    TensorFact { name: name.to_owned(), data_type: data_type.config_number(), shape: shape.to_vec() }
}

fn facts(input: &[i64], output: &[i64]) -> Description {
    let facts = TensorFacts {
        inputs: vec![fact("IN", DataType::Fp32, input)],
        outputs: vec![fact("OUT", DataType::Bytes, output)],
    };
    Description { proposal: Some(Proposal::Facts(facts)) }
}

fn completed(text: &str, description: &Description) -> Result<RawConfig, ServeError> {
    let mut raw = pbtxt::parse(text).unwrap();
    complete(&mut raw, description, DEFAULT_MAX_BATCH_SIZE).map(|_| raw)
}

fn normalised(text: &str) -> RawConfig {
    let mut raw = pbtxt::parse(text).unwrap();
    normalise(&mut raw);
    raw
}

#[test]
fn a_model_whose_first_dimensions_vary_is_batched() {
    let expected = r#"
        max_batch_size: 4
        input { name: "IN" data_type: TYPE_FP32 dims: [ 3, -1 ] }
        output { name: "OUT" data_type: TYPE_STRING dims: 1 reshape {} }
        dynamic_batching {} "#;
    assert_eq!(completed("", &facts(&[-1, 3, -1], &[-1])).unwrap(), normalised(expected));
    let expected = expected.replace("max_batch_size: 4", "max_batch_size: 9");
    assert_eq!(completed("max_batch_size: 9", &facts(&[-1, 3, -1], &[-1])).unwrap(), normalised(&expected));
}

#[test]
fn the_size_that_was_assumed_is_told() {
    let mut raw = RawConfig { name: "m".to_owned(), ..Default::default() };
    let warnings = complete(&mut raw, &facts(&[-1, 3], &[-1]), 7).unwrap();
    assert_eq!(raw.max_batch_size, 7);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("max_batch_size to 7 for model 'm'"), "{}", warnings[0]);
}

#[test]
fn a_batch_size_of_one_or_a_scheduler_of_its_own_needs_no_dynamic_batching() {
    assert_eq!(completed("max_batch_size: 1", &facts(&[-1], &[-1])).unwrap().scheduling_choice, None);
    let sequence = completed("sequence_batching {}", &facts(&[-1], &[-1])).unwrap();
    assert!(matches!(sequence.scheduling_choice, Some(SchedulingChoice::SequenceBatching(_))));
}

#[test]
fn a_model_with_a_fixed_first_dimension_is_not_batched() {
    let expected = r#"
        input { name: "IN" data_type: TYPE_FP32 dims: [ -1, 3 ] }
        output { name: "OUT" data_type: TYPE_STRING dims: 2 } "#;
    assert_eq!(completed("", &facts(&[-1, 3], &[2])).unwrap(), normalised(expected));
    let scalar = completed("", &facts(&[-1, 3], &[])).unwrap();
    assert_eq!((scalar.output[0].dims.as_slice(), &scalar.output[0].reshape), ([1].as_slice(), &None));

    let error = completed("name: 'm' max_batch_size: 2", &facts(&[-1, 3], &[2])).unwrap_err();
    assert_eq!(
        error,
        ServeError::invalid(
            "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified"
        )
    );
}

#[test]
fn an_operator_may_turn_batching_off_for_models_that_do_not_ask_for_it() {
    let mut raw = RawConfig::default();
    complete(&mut raw, &facts(&[-1, 3], &[-1]), 0).unwrap();
    assert_eq!((raw.max_batch_size, &raw.scheduling_choice), (0, &None));
    assert_eq!(raw.input[0].dims, [-1, 3]);
}

#[test]
fn tensors_that_are_given_stay() {
    let full = "input { name: 'A' } output { name: 'B' }";
    assert_eq!(completed(full, &facts(&[-1], &[-1])).unwrap(), normalised(full));
    let batch = "batch_input { target_name: 'A' } output { name: 'B' }";
    assert_eq!(completed(batch, &facts(&[-1], &[-1])).unwrap(), normalised(batch));
    let half = completed("output { name: 'B' }", &facts(&[-1], &[-1])).unwrap();
    assert_eq!(
        (half.input[0].name.as_str(), half.output[0].name.as_str(), half.max_batch_size),
        ("IN", "B", 4)
    );
}

#[test]
fn a_worker_with_nothing_to_say_changes_nothing() {
    for proposal in [None, Some(Proposal::Nothing(Nothing {}))] {
        assert_eq!(completed("name: 'm'", &Description { proposal }).unwrap(), normalised("name: 'm'"));
    }
}

fn proposal(text: &str) -> Description {
    Description { proposal: Some(Proposal::Config(pbtxt::parse(text).unwrap())) }
}

#[test]
fn of_a_proposal_only_some_parts_are_taken() {
    let proposed = proposal(
        r#"name: "other" backend: "other" max_batch_size: 3 input { name: "A" } output { name: "B" } dynamic_batching {}
           model_transaction_policy { decoupled: true } instance_group { count: 9 } parameters { key: "k" }"#,
    );
    let expected = r#"name: "m" max_batch_size: 3 input { name: "A" } output { name: "B" } dynamic_batching {}
           model_transaction_policy { decoupled: true } "#;
    assert_eq!(completed("name: 'm'", &proposed).unwrap(), normalised(expected));
}

#[test]
fn a_scheduling_choice_that_is_made_stays() {
    let own = "dynamic_batching { preferred_batch_size: 2 }";
    assert_eq!(completed(own, &proposal("dynamic_batching {}")).unwrap(), normalised(own));
    assert_eq!(completed(own, &proposal("")).unwrap(), normalised(own));
    let error = completed(own, &proposal("sequence_batching {}")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert_eq!(error.message, "Cannot update scheduling choice from 11 to 13 when auto-completing.");
}

#[test]
fn somebody_has_to_configure_a_model() {
    let nothing = Description { proposal: Some(Proposal::Nothing(Nothing {})) };
    assert_eq!(check_provided("m", true, None), Ok(()));
    assert_eq!(check_provided("m", false, Some(&proposal(""))), Ok(()));
    let error = check_provided("m", false, Some(&nothing)).unwrap_err();
    assert_eq!(error, ServeError::not_found("model configuration is not provided for model 'm'"));
}
