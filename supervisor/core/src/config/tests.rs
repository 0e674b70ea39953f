//! The whole way of a configuration, and the accessors of a valid one.

pub(super) mod arbitrary;

use super::*;

/// Parses, fills in the defaults and checks.
pub(crate) fn valid(text: &str) -> ModelConfig {
    let mut raw = pbtxt::parse(text).unwrap();
    normalise::normalise(&mut raw);
    normalise::normalise_instance_groups(&mut raw, &ServerFacts::default(), &[]);
    ModelConfig::new(raw, &ServerFacts::default()).unwrap()
}

const ADD_SUB: &str = r#"
name: "add_sub"
backend: "onnxruntime"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [
  { name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_STRING dims: [ -1, 2 ] optional: true }
]
output { name: "OUTPUT0" data_type: TYPE_INT64 dims: [ 4 ] label_filename: "labels.txt" reshape { shape: [ 2, 2 ] } }
dynamic_batching { max_queue_delay_microseconds: 100 }
parameters { key: "threads" value { string_value: "2" } }
"#;

#[test]
fn a_valid_configuration_answers_what_the_server_asks() {
    let config = valid(ADD_SUB);
    assert_eq!(
        (config.name(), config.backend(), config.platform()),
        ("add_sub", "onnxruntime", "onnxruntime_onnx")
    );
    assert_eq!(
        (config.max_batch_size(), config.has_batch_dimension(), config.required_inputs()),
        (8, true, 1)
    );
    assert_eq!(config.input_index("INPUT1"), Some(1));
    assert_eq!(config.input_index("INPUT2"), None);
    let input = config.input("INPUT1").unwrap();
    assert_eq!(input.datatype, DataType::Bytes);
    assert_eq!(
        (input.dims.as_slice(), input.full_dims.as_slice()),
        ([-1, 2].as_slice(), [-1, -1, 2].as_slice())
    );
    assert!(input.optional && input.variable && !input.ragged);
    let output = config.output("OUTPUT0").unwrap();
    assert_eq!(
        (output.label_filename.as_str(), output.reshape.as_deref()),
        ("labels.txt", Some([2, 2].as_slice()))
    );
    let Batching::Dynamic(dynamic) = config.batching() else { panic!("batched dynamically") };
    assert_eq!(
        (dynamic.preferred_batch_size.as_slice(), dynamic.max_queue_delay_microseconds),
        ([8].as_slice(), 100)
    );
    assert_eq!(config.parameter("threads"), Some("2"));
    assert_eq!(config.parameter("thread"), None);
    assert_eq!(config.version_policy(), VersionPolicy::Latest(1));
    assert!(!config.is_decoupled() && !config.caches_responses());
    let names: Vec<String> = config.instances().into_iter().map(|instance| instance.name).collect();
    assert_eq!(names, ["add_sub_0", "add_sub_1"]);
}

#[test]
fn a_model_without_a_platform_tells_its_backend_in_the_metadata() {
    assert_eq!(valid(r#"name: "p" backend: "python""#).platform(), "python");
}

#[test]
fn of_two_tensors_with_one_name_the_first_counts() {
    let config = valid(
        r#"name: "p" backend: "python"
        input [{ name: "A" data_type: TYPE_INT8 dims: 1 }, { name: "A" data_type: TYPE_INT16 dims: 1 }]"#,
    );
    assert_eq!(config.input("A").unwrap().datatype, DataType::Int8);
    assert_eq!(config.inputs().len(), 2);
}

#[test]
fn a_shape_is_put_into_the_form_that_the_model_wants() {
    assert_eq!(tensor::reshaped(&[2, 4, -1, 6], &[2, 4, 7, 6], &[8, -1, 1, 6]), [8, 7, 1, 6]);
    assert!(tensor::reshaped(&[1], &[1], &[]).is_empty());
}

#[test]
fn every_data_type_has_the_number_and_the_names_of_the_protocol() {
    for datatype in DataType::ALL {
        let protocol = pb::DataType::from(datatype);
        assert_eq!(datatype.config_name(), protocol.as_str_name());
        assert_eq!(DataType::from_number(datatype.number()), Some(datatype));
        assert_eq!(DataType::from_wire_name(datatype.wire_name()), Some(datatype));
    }
    assert_eq!(DataType::from_number(0_i32), None);
    assert_eq!(DataType::from_wire_name("fp32"), None);
    assert_eq!(DataType::from_wire_name("STRING"), None);
    assert_eq!(datatype::config_name(0), "TYPE_INVALID");
}
