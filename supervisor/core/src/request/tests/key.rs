//! Which requests may share a batch.

use super::*;

fn key(config: &ModelConfig, inputs: &[InputView<'_>]) -> u64 {
    facts(config, inputs).unwrap().shape_key
}

fn variable(dims: &'static [i64]) -> InputView<'static> {
    let elements: i64 = dims.iter().product();
    input("b", DataType::Fp16, dims, u64::try_from(elements * 2).unwrap())
}

#[test]
fn equal_shapes_batch_together_whatever_the_number_of_rows_and_the_order_of_inputs() {
    let config = batched();
    let one = key(&config, &[input("a", DataType::Int32, &[1, 2], 8), variable(&[1, 5, 3])]);
    let two = key(&config, &[variable(&[2, 5, 3]), input("a", DataType::Int32, &[2, 2], 16)]);
    let other = key(&config, &[variable(&[2, 6, 3]), input("a", DataType::Int32, &[2, 2], 16)]);
    assert_eq!(one, two);
    assert_ne!(one, other);
}

#[test]
fn ragged_inputs_batch_together_in_any_shape() {
    let config = valid(
        r#"name: "m" backend: "b" max_batch_size: 4
        input { name: "b" data_type: TYPE_FP16 dims: [ -1, 3 ] allow_ragged_batch: true }"#,
    );
    assert_eq!(key(&config, &[variable(&[1, 5, 3])]), key(&config, &[variable(&[1, 6, 3])]));
}

#[test]
fn requests_with_different_optional_inputs_stay_apart() {
    let config = valid(
        r#"name: "m" backend: "b" max_batch_size: 4
        input [ { name: "a" data_type: TYPE_INT8 dims: 1 optional: true },
                { name: "c" data_type: TYPE_INT8 dims: 1 optional: true } ]"#,
    );
    let (a, c) = (input("a", DataType::Int8, &[1, 1], 1), input("c", DataType::Int8, &[1, 1], 1));
    let keys = [key(&config, &[]), key(&config, &[a]), key(&config, &[c]), key(&config, &[a, c])];
    for (index, one) in keys.iter().enumerate() {
        assert!(!keys[..index].contains(one));
    }
    assert_eq!(keys[3], key(&config, &[c, a]));
}

#[test]
fn shape_tensors_must_hold_the_same_values() {
    let config = valid(
        r#"name: "m" backend: "tensorrt" platform: "tensorrt_plan" max_batch_size: 4
        input { name: "s" data_type: TYPE_INT8 dims: 2 is_shape_tensor: true }"#,
    );
    let with = |bytes: &'static [u8]| {
        key(&config, &[InputView { bytes: Some(bytes), ..input("s", DataType::Int8, &[2], 2) }])
    };
    assert_eq!(with(&[0, 1]), with(&[0, 1]));
    assert_ne!(with(&[0, 1]), with(&[0, 2]));
}

#[test]
fn keys_depend_on_the_server_s_seed() {
    let inputs = [input("a", DataType::Int32, &[1, 2], 8), variable(&[1, 5, 3])];
    assert_ne!(key(&batched(), &inputs), key(&batched().with_shape_seed(1), &inputs));
}
