use super::*;
use crate::config::tests::valid;

/// A model with tensors `i0`, `i1`… and `o0`, `o1`… of the given types and dims.
fn model(name: &str, extra: &str, inputs: &[(&str, &str)], outputs: &[(&str, &str)]) -> ModelConfig {
    let tensors = |field: &str, letter: char, all: &[(&str, &str)]| -> String {
        let all = all.iter().enumerate();
        all.map(|(index, (data_type, rest))| {
            format!("{field} {{ name: '{letter}{index}' data_type: TYPE_{data_type} {rest} }}")
        })
        .collect()
    };
    valid(&format!(
        "name: '{name}' backend: 'b' {extra} {} {}",
        tensors("input", 'i', inputs),
        tensors("output", 'o', outputs)
    ))
}

/// An ensemble from `a` to `z`; each step is a model's name and two lists of `model tensor=ensemble tensor`.
fn ensemble(extra: &str, dims: &str, steps: &[(&str, &str, &str)]) -> ModelConfig {
    let map = |field: &str, pairs: &str| -> String {
        let pairs = pairs.split_whitespace().map(|pair| pair.split_once('=').unwrap());
        pairs.map(|(tensor, to)| format!("{field} {{ key: '{tensor}' value: '{to}' }}")).collect()
    };
    let steps: String = steps
        .iter()
        .map(|(model, from, to)| {
            format!("step {{ model_name: '{model}' {} {} }}", map("input_map", from), map("output_map", to))
        })
        .collect();
    valid(&format!(
        "name: 'e' platform: 'ensemble' {extra} input {{ name: 'a' data_type: TYPE_FP32 {dims} }}
         output {{ name: 'z' data_type: TYPE_FP32 {dims} }} ensemble_scheduling {{ {steps} }}"
    ))
}

fn check(ensemble: &ModelConfig, models: &[ModelConfig]) -> Result<bool, String> {
    check_ensemble(ensemble, |name| models.iter().find(|model| model.name() == name))
        .map_err(|error| error.message)
}

const FP32: (&str, &str) = ("FP32", "dims: 4");

#[test]
fn tensors_that_fit_make_a_valid_ensemble() {
    let chain = ensemble("", "dims: 4", &[("x", "i0=a", "o0=b"), ("y", "i0=b", "o0=z")]);
    let y = model("y", "", &[("FP32", "dims: -1")], &[FP32]);
    assert_eq!(check(&chain, &[model("x", "", &[FP32], &[FP32]), y]), Ok(false));
}

#[test]
fn a_model_without_batching_may_have_the_batch_among_its_dims() {
    let batched = ensemble("max_batch_size: 4", "dims: 4", &[("x", "i0=a", "o0=z")]);
    let plain = ("FP32", "dims: [ -1, 4 ]");
    assert_eq!(check(&batched, &[model("x", "", &[plain], &[plain])]), Ok(false));
}

#[test]
fn an_ensemble_s_reshape_is_what_its_steps_see() {
    let reshaped = ensemble("", "dims: 4 reshape { shape: [ 2, 2 ] }", &[("x", "i0=a", "o0=z")]);
    let square = ("FP32", "dims: [ 2, 2 ]");
    assert_eq!(check(&reshaped, &[model("x", "", &[square], &[square])]), Ok(false));
}

#[test]
fn tensors_that_do_not_fit_are_told_with_both_models() {
    let chain = ensemble("max_batch_size: 4", "dims: 4", &[("x", "i0=a", "o0=b"), ("y", "i0=b", "o0=z")]);
    let x = model("x", "max_batch_size: 4", &[FP32], &[FP32]);
    let typed = model("y", "max_batch_size: 4", &[("INT8", "dims: 4")], &[FP32]);
    assert_eq!(
        check(&chain, &[x.clone(), typed]).unwrap_err(),
        "in ensemble e, ensemble tensor b: inconsistent data type: TYPE_FP32 is inferred from model x while TYPE_INT8 \
         is inferred from model y"
    );
    let shaped = model("y", "max_batch_size: 4", &[("FP32", "dims: [ 4, 4 ]")], &[FP32]);
    assert_eq!(
        check(&chain, &[x, shaped]).unwrap_err(),
        "in ensemble e, ensemble tensor b: inconsistent shape: [-1,4] is inferred from model x while [-1,4,4] is \
         inferred from model y"
    );
}

#[test]
fn maps_name_tensors_that_there_are() {
    let one = |from: &str, to: &str| ensemble("", "dims: 4", &[("x", from, to)]);
    let x = model("x", "", &[FP32], &[FP32]);
    let cases = [
        (
            one("i0=a i9=a", "o0=z"),
            "in ensemble e, ensemble tensor a is mapping to non-existing input i9 in model x",
        ),
        (
            one("i0=a", "o9=z"),
            "in ensemble e, ensemble tensor z is mapped from non-existing output o9 in model x",
        ),
    ];
    for (ensemble, expected) in cases {
        assert_eq!(check(&ensemble, std::slice::from_ref(&x)).unwrap_err(), expected);
    }
    let two = model("x", "", &[FP32, FP32], &[FP32]);
    assert_eq!(
        check(&one("i0=a", "o0=z"), &[two]).unwrap_err(),
        "in ensemble e, input i1 in model x is not mapped to any ensemble tensors"
    );
    let optional = model("x", "", &[FP32, ("FP32", "dims: 4 optional: true")], &[FP32]);
    assert_eq!(check(&one("i0=a", "o0=z"), &[optional]), Ok(false));
    let same = valid(
        "name: 'x' backend: 'b' input { name: 'i0' data_type: TYPE_FP32 dims: 4 }
         output { name: 'o0' data_type: TYPE_FP32 dims: 4 } output { name: 'o0' data_type: TYPE_FP32 dims: 4 }",
    );
    assert_eq!(
        check(&one("i0=a", "o0=z"), &[same]).unwrap_err(),
        "in ensemble e, multiple outputs in model x are mapped to the same ensemble tensor z"
    );
}

#[test]
fn a_step_can_take_what_the_ensemble_takes() {
    let batched = ensemble("max_batch_size: 3", "dims: 4", &[("x", "i0=a", "o0=z")]);
    assert_eq!(
        check(&batched, &[model("x", "max_batch_size: 2", &[FP32], &[FP32])]).unwrap_err(),
        "ensemble e allows maximum batch size 3, but it contains model x which only allows maximum batch size to be 2"
    );
    assert_eq!(check(&batched, &[model("x", "max_batch_size: 3", &[FP32], &[FP32])]), Ok(false));
    assert_eq!(
        check(&batched, &[]).unwrap_err(),
        "ensemble e contains models that are not available or ambiguous: x"
    );
}

#[test]
fn an_ensemble_with_a_decoupled_step_is_decoupled() {
    let decoupled = "model_transaction_policy { decoupled: true }";
    let chain = ensemble("", "dims: 4", &[("x", "i0=a", "o0=b"), ("y", "i0=b", "o0=z")]);
    let models = [model("x", decoupled, &[FP32], &[FP32]), model("y", "", &[FP32], &[FP32])];
    assert_eq!(check(&chain, &models), Ok(true));
}

#[test]
fn two_streams_of_responses_do_not_meet_again() {
    let decoupled = "model_transaction_policy { decoupled: true }";
    let models = [
        model("x", decoupled, &[FP32], &[FP32]),
        model("y", "", &[FP32, FP32], &[FP32]),
        model("w", "", &[FP32], &[FP32]),
    ];
    let expected =
        "in ensemble e, step of model 'y' receives inputs originated from different decoupled models";
    let both =
        ensemble("", "dims: 4", &[("x", "i0=a", "o0=b"), ("x", "i0=a", "o0=c"), ("y", "i0=b i1=c", "o0=z")]);
    assert_eq!(check(&both, &models).unwrap_err(), expected);
    let with_the_request = ensemble("", "dims: 4", &[("x", "i0=a", "o0=b"), ("y", "i0=a i1=b", "o0=z")]);
    assert_eq!(check(&with_the_request, &models).unwrap_err(), expected);
    let one_stream =
        ensemble("", "dims: 4", &[("x", "i0=a", "o0=b"), ("w", "i0=b", "o0=c"), ("y", "i0=b i1=c", "o0=z")]);
    assert_eq!(check(&one_stream, &models), Ok(true));
}
