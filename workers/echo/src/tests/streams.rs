use super::{config, decoupled, load, refused, with};
use nereid_worker::{
    ErrorCode,
    proto::{
        inference::{
            DataType::{TypeFp32, TypeInt32, TypeUint32},
            ModelConfig,
        },
        worker::{Cancel, execution_to_supervisor, execution_to_worker},
    },
    rig::{Ask, Layout, Outcome},
};
use std::time::{Duration, Instant};

fn repeat() -> ModelConfig {
    let inputs: &[super::Tensor<'_>] =
        &[("IN", TypeInt32, &[-1]), ("DELAY", TypeUint32, &[-1]), ("WAIT", TypeUint32, &[1])];
    decoupled(config("repeat", inputs, &[("OUT", TypeInt32, &[1]), ("IDX", TypeUint32, &[1])]))
}

fn ask_repeat(values: &[i32], delays: &[u32], wait: u32) -> Ask {
    let count = |length| [i64::try_from(length).unwrap()];
    Ask::new().int32("IN", &count(values.len()), values).uint32("DELAY", &count(delays.len()), delays).uint32(
        "WAIT",
        &[1],
        &[wait],
    )
}

fn square() -> ModelConfig {
    decoupled(config("square", &[("IN", TypeInt32, &[1])], &[("OUT", TypeInt32, &[1])]))
}

fn ask_square(number: i32) -> Ask {
    Ask::new().int32("IN", &[1], &[number])
}

/// The first output of each response, then whether the last was final and empty.
fn stream(outcome: &Outcome) -> (Vec<i32>, bool) {
    let all = outcome.all(0);
    let (last, rest) = all.split_last().unwrap();
    assert!(rest.iter().all(|answer| !answer.last));
    let values = rest.iter().map(|answer| answer.output("OUT").int32()[0]).collect();
    (values, last.last && last.outputs.is_empty() && last.error.is_none())
}

#[test]
fn the_elements_come_one_by_one_with_their_places() {
    let mut rig = load(repeat());
    let outcome = rig.execute(vec![ask_repeat(&[7, -8, 9], &[0, 5, 0], 0)]);
    assert_eq!(stream(&outcome), (vec![7, -8, 9], true));
    let places: Vec<_> = outcome.all(0)[..3].iter().map(|answer| answer.output("IDX").uint32()[0]).collect();
    assert_eq!(places, [0, 1, 2]);
    let outcome = rig.execute(vec![ask_repeat(&[], &[], 0)]);
    assert_eq!(stream(&outcome), (vec![], true));
}

#[test]
fn a_repeat_takes_its_delays_and_at_least_its_wait() {
    let mut rig = load(repeat());
    let begin = Instant::now();
    rig.execute(vec![ask_repeat(&[1, 2], &[10, 20], 0)]);
    assert!(begin.elapsed() >= Duration::from_millis(30));
    let begin = Instant::now();
    rig.execute(vec![ask_repeat(&[1], &[0], 40)]);
    assert!(begin.elapsed() >= Duration::from_millis(40));
}

#[test]
fn a_repeat_with_unequal_shapes_is_an_error() {
    let mut rig = load(repeat());
    let outcome = rig.execute(vec![ask_repeat(&[1, 2, 3, 4], &[1, 2, 3], 0)]);
    assert_eq!(outcome.only(0).error(), "expected IN and DELAY shape to match, got [4] and [3]");
    let two_waits =
        Ask::new().int32("IN", &[0], &[]).uint32("DELAY", &[0], &[]).uint32("WAIT", &[2], &[1, 1]);
    assert_eq!(rig.execute(vec![two_waits]).only(0).error(), "unexpected size for WAIT input");
}

#[test]
fn a_cancelled_repeat_ends_in_the_middle() {
    let mut rig = load(repeat());
    let sent = rig.send(vec![ask_repeat(&[1, 2], &[0, 3_600_000], 0)], Layout::Adjacent);
    // The first answer needs memory; what follows is the long delay.
    let execution_to_supervisor::Message::NeedSegment(need) = rig.listen() else { panic!("no need") };
    rig.give(need);
    rig.tell(execution_to_worker::Message::Cancel(Cancel { ticket: sent.tickets[0] }));
    let outcome = rig.finish(sent);
    let last = *outcome.all(0).last().unwrap();
    assert_eq!(last.error.as_ref().unwrap().code(), ErrorCode::Cancelled);
    assert!(last.last);
}

#[test]
fn a_repeat_that_is_not_decoupled_gives_one_response() {
    let mut rig = load(ModelConfig { model_transaction_policy: None, ..repeat() });
    let outcome = rig.execute(vec![ask_repeat(&[5], &[0], 0)]);
    assert_eq!(outcome.only(0).output("OUT").int32(), [5]);
    let outcome = rig.execute(vec![ask_repeat(&[5, 6], &[0, 0], 0)]);
    assert!(outcome.only(0).error().contains("one response"));
}

#[test]
fn a_repeat_has_tritons_rules_for_configurations() {
    let changed = |change: fn(&mut ModelConfig)| {
        let mut config = repeat();
        change(&mut config);
        refused(config).message
    };
    assert_eq!(
        changed(|config| config.max_batch_size = 1),
        "repeat backend only supports models with max_batch_size == 0"
    );
    assert_eq!(changed(|config| drop(config.input.pop())), "expected 3 inputs, got 2");
    assert_eq!(changed(|config| drop(config.output.pop())), "expected 2 outputs, got 1");
    assert_eq!(
        changed(|config| config.input[1].name = "D".to_owned()),
        "expected second input tensor name to be DELAY, got D"
    );
    assert_eq!(
        changed(|config| config.input[0].dims = vec![1, 2]),
        "expected IN shape to have one dimension, got [1,2]"
    );
    assert_eq!(
        changed(|config| config.input[0].dims = vec![4]),
        "expected IN and DELAY shape to match, got [4] and [-1]"
    );
    assert_eq!(changed(|config| config.input[2].dims = vec![2]), "expected WAIT shape to be [1], got [2]");
    assert_eq!(
        changed(|config| config.output[0].set_data_type(TypeFp32)),
        "expected OUT datatype to be INT32, got TYPE_FP32"
    );
}

#[test]
fn a_number_comes_back_as_often_as_it_says() {
    let mut rig = load(square());
    assert_eq!(stream(&rig.execute(vec![ask_square(3)])), (vec![3; 3], true));
    assert_eq!(stream(&rig.execute(vec![ask_square(0)])), (vec![], true));
    assert_eq!(stream(&rig.execute(vec![ask_square(-5)])), (vec![], true));
    let batched = Ask::new().int32("IN", &[1, 1], &[2]);
    let outcome = rig.execute(vec![batched]);
    assert_eq!(outcome.all(0)[0].output("OUT").shape, [1, 1]);
    let outcome = rig.execute(vec![Ask::new().int32("IN", &[2, 1], &[2, 2])]);
    assert_eq!(outcome.only(0).error(), "unexpected shape for IN input");
}

#[test]
fn the_last_responses_of_a_square_can_fail_or_be_left_out() {
    let mut rig = load(with(square(), &[("CUSTOM_FAIL_COUNT", "2"), ("CUSTOM_EMPTY_COUNT", "1")]));
    let outcome = rig.execute(vec![ask_square(5)]);
    let kinds: Vec<_> = outcome
        .all(0)
        .iter()
        .map(|answer| match (&answer.error, answer.last) {
            (Some(error), false) => error.message.as_str(),
            (None, false) => "success",
            (_, true) => "final",
        })
        .collect();
    assert_eq!(kinds, ["success", "success", "simulated failure", "simulated failure", "final"]);
    assert_eq!(outcome.all(0)[2].error.as_ref().unwrap().code(), ErrorCode::Unknown);
}

#[test]
fn the_responses_of_a_square_can_be_slow() {
    let parameters = [("CUSTOM_INFER_DELAY_NS", "5000000"), ("CUSTOM_OUTPUT_DELAY_NS", "5000000")];
    let mut rig = load(with(square(), &parameters));
    let begin = Instant::now();
    rig.execute(vec![ask_square(2)]);
    assert!(begin.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_square_has_tritons_rules_for_configurations() {
    let failure = refused(config("square", &[], &[]));
    assert_eq!(failure.message, "expected 1 input, got 0");
    let failure = refused(config("square", &[("IN", TypeInt32, &[1])], &[("OUT", TypeInt32, &[2])]));
    assert_eq!(failure.message, "expected OUT shape to be [1], got [2]");
    let failure = refused(config("square", &[("IN", TypeFp32, &[1])], &[("OUT", TypeInt32, &[1])]));
    assert_eq!(failure.message, "expected IN datatype to be INT32, got TYPE_FP32");
}

#[test]
fn an_endless_square_sees_its_cancellation() {
    let mut rig = load(square());
    let sent = rig.send(vec![ask_square(i32::MAX)], Layout::Adjacent);
    let execution_to_supervisor::Message::NeedSegment(need) = rig.listen() else { panic!("no need") };
    rig.give(need);
    rig.tell(execution_to_worker::Message::Cancel(Cancel { ticket: sent.tickets[0] }));
    let outcome = rig.finish(sent);
    let last = *outcome.all(0).last().unwrap();
    assert_eq!(last.error.as_ref().unwrap().code(), ErrorCode::Cancelled);
}
