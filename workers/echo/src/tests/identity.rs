use super::{config, load, model, refused, with};
use crate::Echo;
use nereid_worker::{
    DataType, ErrorCode, Exit, Value,
    proto::{
        inference::{
            DataType::{TypeFp32, TypeInt32, TypeString},
            ModelConfig, ModelTensorReshape,
            model_instance_group::Kind,
        },
        worker::{Load, control_to_worker},
    },
    rig::{Ask, Rig},
};
use std::time::{Duration, Instant};

fn strict() -> ModelConfig {
    config("identity", &[("INPUT0", TypeInt32, &[-1])], &[("OUTPUT0", TypeInt32, &[-1])])
}

fn echo() -> ModelConfig {
    ModelConfig { backend: "echo".to_owned(), ..strict() }
}

fn ask(values: &[i32]) -> Ask {
    Ask::new().int32("INPUT0", &[1, i64::try_from(values.len()).unwrap()], values)
}

#[test]
fn every_type_and_shape_comes_back_as_it_was() {
    let mut rig = load(ModelConfig { input: vec![], output: vec![], ..echo() });
    for datatype in DataType::ALL {
        let Some(size) = datatype.byte_size() else { continue };
        for shape in [&[][..], &[0], &[3], &[2, 0, 5], &[2, 3]] {
            let elements: i64 = shape.iter().product();
            let bytes: Vec<u8> =
                (0_u8..=255).cycle().take(usize::try_from(elements).unwrap() * size).collect();
            let outcome = rig.execute(vec![Ask::new().input("X", datatype, shape, &bytes)]);
            let output = outcome.only(0).output("X");
            assert_eq!((output.datatype, output.shape.as_slice()), (datatype, shape));
            assert_eq!(output.bytes, bytes);
        }
    }
    let outcome = rig.execute(vec![Ask::new().texts("INPUT7", &[2, 1], &["", "Köln"])]);
    assert_eq!(outcome.only(0).output("OUTPUT7").texts(), ["", "Köln"]);
    assert_eq!(rig.stop(), Exit::Stopped);
}

#[test]
fn requests_of_a_batch_may_have_different_shapes() {
    let mut rig = load(echo());
    let outcome = rig.execute(vec![ask(&[1]), ask(&[2, 3, 4]), ask(&[])]);
    let values: Vec<_> = (0..3).map(|index| outcome.only(index).output("OUTPUT0").int32()).collect();
    assert_eq!(values, [vec![1], vec![2, 3, 4], vec![]]);
}

#[test]
fn outputs_are_paired_with_inputs_by_name_and_else_by_place() {
    let inputs: &[super::Tensor<'_>] = &[("A", TypeInt32, &[1]), ("INPUT1", TypeInt32, &[1])];
    let outputs: &[super::Tensor<'_>] = &[("OUTPUT1", TypeInt32, &[1]), ("B", TypeInt32, &[1])];
    let mut rig = load(config("echo", inputs, outputs));
    let asks = vec![Ask::new().int32("A", &[1], &[5]).int32("INPUT1", &[1], &[6])];
    let outcome = rig.execute(asks);
    assert_eq!(outcome.only(0).output("OUTPUT1").int32(), [6]);
    assert_eq!(outcome.only(0).output("B").int32(), [6], "the second input, too");
}

#[test]
fn only_requested_outputs_are_given_and_their_inputs_needed() {
    let inputs: &[super::Tensor<'_>] = &[("INPUT0", TypeInt32, &[1]), ("INPUT1", TypeInt32, &[1])];
    let outputs: &[super::Tensor<'_>] = &[("OUTPUT0", TypeInt32, &[1]), ("OUTPUT1", TypeInt32, &[1])];
    let mut rig = load(config("identity", inputs, outputs));
    let ask = Ask::new().int32("INPUT1", &[1], &[1]);
    let outcome = rig.execute(vec![ask.clone().wants("OUTPUT1"), ask]);
    assert_eq!(outcome.only(0).outputs.len(), 1);
    assert_eq!(outcome.only(1).error(), "failed to get input 'INPUT0'");
    assert_eq!(outcome.only(1).error.as_ref().unwrap().code(), ErrorCode::Unsupported);
}

#[test]
fn the_strict_one_adds_the_parameters_that_tritons_does() {
    let outcome = load(strict()).execute(vec![ask(&[1])]);
    let parameters: Vec<_> = outcome
        .only(0)
        .parameters
        .iter()
        .map(|one| (one.name.as_str(), one.value.clone().unwrap()))
        .collect();
    let text = Value::StringValue("an example string parameter".to_owned());
    assert_eq!(
        parameters,
        [("param0", text), ("param1", Value::Int64Value(42)), ("param2", Value::BoolValue(false))]
    );
    assert!(load(echo()).execute(vec![ask(&[1])]).only(0).parameters.is_empty());
}

#[test]
fn the_strict_one_has_tritons_rules_for_configurations() {
    let told = |inputs: &[super::Tensor<'_>], outputs: &[super::Tensor<'_>]| {
        let failure = refused(config("identity", inputs, outputs));
        assert_eq!(failure.code(), ErrorCode::InvalidArg);
        failure.message
    };
    let input: super::Tensor<'_> = ("INPUT0", TypeInt32, &[2]);
    let output: super::Tensor<'_> = ("OUTPUT0", TypeInt32, &[2]);
    assert_eq!(told(&[input], &[]), "model configuration must have equal input/output pairs");
    assert_eq!(
        told(&[("IN", TypeInt32, &[2])], &[output]),
        "expected input name to follow INPUT<index> pattern, got 'IN'"
    );
    assert_eq!(
        told(&[input], &[("OUT", TypeInt32, &[2])]),
        "expected output name to follow OUTPUT<index> pattern, got 'OUT'"
    );
    assert_eq!(told(&[input], &[("OUTPUT1", TypeInt32, &[2])]), "expected input and output indices to match");
    assert_eq!(
        told(&[input], &[("OUTPUT0", TypeFp32, &[2])]),
        "expected input and output datatype to match, got TYPE_INT32 and TYPE_FP32"
    );
    assert_eq!(
        told(&[input], &[("OUTPUT0", TypeInt32, &[2, -1])]),
        "expected input and output shape to match, got [2] and [2,-1]"
    );
    let mut on_gpu = model(strict());
    on_gpu.set_kind(Kind::Gpu);
    let failure = Rig::start(Echo::default()).load(on_gpu).unwrap_err();
    assert_eq!(failure.message, "'identity' backend only supports CPU instances");
}

#[test]
fn a_reshaped_output_matches_a_reshaped_input() {
    let mut reshaped = strict();
    reshaped.input[0].reshape = Some(ModelTensorReshape { shape: vec![4] });
    reshaped.output[0].dims = vec![4];
    load(reshaped);
}

#[test]
fn the_lenient_one_refuses_what_it_cannot_pair() {
    let failure = refused(config("echo", &[], &[("B", TypeString, &[1])]));
    assert!(failure.message.starts_with("output 'B' has no input to echo"), "{failure:?}");
    let failure = refused(config("echo", &[("A", TypeInt32, &[1])], &[("B", TypeString, &[1])]));
    assert!(failure.message.contains("got TYPE_INT32 and TYPE_STRING"), "{failure:?}");
}

#[test]
fn unknown_behaviors_and_bad_numbers_are_refused() {
    let failure = refused(with(echo(), &[("behavior", "dance")]));
    assert!(failure.message.contains("'dance'"), "{failure:?}");
    let failure = refused(config("tensorflow", &[], &[]));
    assert!(failure.message.contains("'tensorflow'"), "{failure:?}");
    let failure = refused(with(echo(), &[("execute_delay_ms", "soon")]));
    assert_eq!(failure.message, "parameter 'execute_delay_ms' is 'soon'; it must be a whole number");
}

#[test]
fn execution_takes_as_long_as_the_model_or_a_request_says() {
    let mut rig = load(with(echo(), &[("execute_delay_ms", "20")]));
    let timed = |rig: &mut Rig, ask: Ask| {
        let begin = Instant::now();
        rig.execute(vec![ask]);
        begin.elapsed()
    };
    assert!(timed(&mut rig, ask(&[1])) >= Duration::from_millis(20));
    let longer = ask(&[1]).parameter("execute_delay_ms", Value::Int64Value(50));
    assert!(timed(&mut rig, longer) >= Duration::from_millis(50));
    let longer = ask(&[1]).text_parameter("execute_delay_ms", "60");
    assert!(timed(&mut rig, longer) >= Duration::from_millis(60));
}

#[test]
fn the_device_can_multiply_the_delay() {
    let parameters = [("execute_delay_ms", "10"), ("instance_wise_delay_multiplier", "1")];
    let mut rig = Rig::start(Echo::default());
    let mut on_third = model(with(echo(), &parameters));
    on_third.device_id = 3;
    rig.load(on_third).unwrap();
    let begin = Instant::now();
    rig.execute(vec![ask(&[1])]);
    assert!(begin.elapsed() >= Duration::from_millis(30));
}

#[test]
fn a_slow_creation_can_be_interrupted() {
    let slow = with(strict(), &[("creation_delay_sec", "1")]);
    let begin = Instant::now();
    load(slow);
    assert!(begin.elapsed() >= Duration::from_secs(1));
    let mut rig = Rig::start(Echo::default());
    let slower = model(with(strict(), &[("creation_delay_sec", "3600")]));
    rig.order(control_to_worker::Message::Load(Load { model: Some(slower) }));
    assert_eq!(rig.vanish(), Exit::SupervisorGone);
}
