use super::{config, load, model, refused, with};
use crate::{Echo, faults::STRANGE_TICKET};
use nereid_worker::{
    ErrorCode, Exit,
    proto::{
        inference::{DataType::TypeString, ModelConfig},
        worker::{
            Cancel, Executed, Load, Tensor, control_to_worker, execution_to_supervisor::Message,
            execution_to_worker,
        },
    },
    rig::{Ask, GENERATION, Layout, Rig, Sent},
};
use std::time::{Duration, Instant};

fn faults() -> ModelConfig {
    let tensors = |name| [(name, TypeString, &[-1_i64][..])];
    with(config("echo", &tensors("INPUT0"), &tensors("OUTPUT0")), &[("behavior", "faults")])
}

fn command(text: &str) -> Ask {
    Ask::new().texts("INPUT0", &[1], &[text])
}

fn send(text: &str) -> (Rig, Sent) {
    let mut rig = load(faults());
    // So that memory is there, and the next message is the lie.
    rig.execute(vec![command("none")]);
    let sent = rig.send(vec![command(text)], Layout::Adjacent);
    (rig, sent)
}

fn executed(rig: &mut Rig) -> Executed {
    match rig.listen() {
        Message::Executed(executed) => executed,
        other => panic!("not Executed: {other:?}"),
    }
}

fn spoiled(lie: &str) -> Tensor {
    let (mut rig, sent) = send(&format!("lie:{lie}"));
    let executed = executed(&mut rig);
    assert_eq!((executed.batch, executed.responses[0].ticket), (sent.batch, sent.tickets[0]));
    executed.responses[0].outputs[0].clone()
}

#[test]
fn without_permission_nobody_commands_faults() {
    let by_parameter = || command("exit:9").text_parameter("fault", "exit:9");
    let harmless = ModelConfig { parameters: [].into(), ..faults() };
    let mut rig = load(harmless.clone());
    assert_eq!(rig.execute(vec![by_parameter()]).only(0).output("OUTPUT0").texts(), ["exit:9"]);
    let mut rig = load(with(harmless.clone(), &[("faults", "false")]));
    assert_eq!(rig.execute(vec![by_parameter()]).only(0).output("OUTPUT0").texts(), ["exit:9"]);
    let mut rig = load(with(harmless, &[("faults", "true")]));
    let failing = command("exit:9").text_parameter("fault", "error:as told");
    assert_eq!(rig.execute(vec![failing]).only(0).error(), "as told");
    assert_eq!(rig.execute(vec![command("exit:9")]).only(0).output("OUTPUT0").texts(), ["exit:9"]);
}

#[test]
fn an_error_has_the_code_that_it_names() {
    let mut rig = load(faults());
    let outcome = rig.execute(vec![command("error:NOT_FOUND:gone: for good")]);
    let error = outcome.only(0).error.clone().unwrap();
    assert_eq!((error.code(), error.message.as_str()), (ErrorCode::NotFound, "gone: for good"));
    let outcome = rig.execute(vec![command("error:plain: text")]);
    let error = outcome.only(0).error.clone().unwrap();
    assert_eq!((error.code(), error.message.as_str()), (ErrorCode::Internal, "plain: text"));
}

#[test]
fn an_unknown_command_is_an_error() {
    let mut rig = load(faults());
    for text in ["explode", "exit", "exit:x", "lie:white", "leak:99999999999999999999", ""] {
        let outcome = rig.execute(vec![command(text)]);
        assert_eq!(outcome.only(0).error(), format!("'{text}' is not a fault of the echo worker"));
    }
}

#[test]
fn a_silent_request_is_answered_by_the_harness() {
    let outcome = load(faults()).execute(vec![command("silence"), command("none")]);
    assert!(outcome.only(0).error().contains("without answering"));
    assert_eq!(outcome.only(1).error, None);
}

#[test]
fn a_delay_ends_with_its_time_or_its_cancellation() {
    let begin = Instant::now();
    let mut rig = load(faults());
    assert_eq!(rig.execute(vec![command("delay:20")]).only(0).output("OUTPUT0").texts(), ["delay:20"]);
    assert!(begin.elapsed() >= Duration::from_millis(20));
    let sent = rig.send(vec![command("delay:3600000")], Layout::Adjacent);
    rig.tell(execution_to_worker::Message::Cancel(Cancel { ticket: sent.tickets[0] }));
    let outcome = rig.finish(sent);
    assert_eq!(outcome.only(0).error.as_ref().unwrap().code(), ErrorCode::Cancelled);
}

#[test]
fn memory_is_leaked_and_large_outputs_are_given() {
    let mut rig = load(faults());
    assert_eq!(rig.execute(vec![command("leak:1")]).only(0).output("OUTPUT0").texts(), ["leak:1"]);
    let outcome = rig.execute(vec![command("big:3000000")]);
    assert!(outcome.only(0).output("BIG").bytes == vec![1; 3_000_000]);
}

#[test]
fn spoiled_outputs_are_sent_as_they_are() {
    let honest = spoiled("name");
    assert_eq!(honest.name, "NOT_AN_OUTPUT");
    assert_eq!(spoiled("shape").shape, [1, 7]);
    assert_eq!(spoiled("negative").shape, [-1, -1]);
    assert_eq!(spoiled("rank").shape.len(), 4000);
    assert_eq!(spoiled("config").shape, [1, 1, 1, 1]);
    assert_eq!(spoiled("datatype").data_type, 99);
    assert!(spoiled("bounds").offset > 1 << 40);
    let overflowing = spoiled("overflow");
    assert_eq!(overflowing.offset.checked_add(overflowing.length), None);
    assert_eq!(spoiled("segment").segment, 4_000_000);
    assert_eq!(spoiled("elements").length + 1, 4 + "lie:elements".len() as u64);
}

#[test]
fn lies_in_messages_come_before_the_honest_answer() {
    let (mut rig, sent) = send("lie:ticket");
    let Message::Response(response) = rig.listen() else { panic!("no response") };
    assert_eq!((response.ticket, response.r#final), (STRANGE_TICKET, true));
    assert_eq!(executed(&mut rig).batch, sent.batch);

    let (mut rig, sent) = send("lie:batch");
    assert!(executed(&mut rig).batch > sent.batch);
    assert_eq!(executed(&mut rig).batch, sent.batch);

    let (mut rig, sent) = send("lie:late");
    assert_eq!([executed(&mut rig).batch, executed(&mut rig).batch], [sent.batch; 2]);

    let (mut rig, sent) = send("lie:duplicate");
    let Message::Response(response) = rig.listen() else { panic!("no response") };
    assert_eq!((response.ticket, response.r#final), (sent.tickets[0], true));
    assert_eq!(executed(&mut rig).responses[0].ticket, sent.tickets[0]);

    let (mut rig, _sent) = send("lie:generation");
    assert_eq!(rig.listen_raw().generation, GENERATION + 1);
    let (mut rig, _sent) = send("lie:empty");
    assert_eq!(rig.listen_raw().message, None);
}

#[test]
fn floods_and_garbage_are_sent_in_the_number_commanded() {
    let (mut rig, sent) = send("flood:100");
    for _ in 0..100 {
        let Message::Response(response) = rig.listen() else { panic!("no response") };
        assert_eq!(response.ticket, STRANGE_TICKET);
    }
    assert_eq!(executed(&mut rig).batch, sent.batch);

    let (mut rig, sent) = send("needs:3");
    for _ in 0..3 {
        let Message::NeedSegment(need) = rig.listen() else { panic!("no need") };
        assert_eq!(need.length, u64::MAX);
    }
    assert_eq!(executed(&mut rig).batch, sent.batch);

    let (mut rig, _sent) = send("garbage:1");
    let received = rig.execution().recv::<nereid_worker::proto::worker::ExecutionToSupervisor>();
    assert!(received.is_err(), "{received:?}");
}

#[test]
fn a_load_can_fail_or_be_slow() {
    let failure = refused(with(faults(), &[("load_fault", "error:UNAVAILABLE:not today")]));
    assert_eq!((failure.code(), failure.message.as_str()), (ErrorCode::Unavailable, "not today"));
    let failure = refused(with(faults(), &[("load_fault", "silence")]));
    assert!(failure.message.contains("needs a batch"), "{failure:?}");
    let begin = Instant::now();
    load(with(faults(), &[("load_fault", "delay:20")]));
    assert!(begin.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_panic_ends_the_worker_with_its_last_words() {
    let (mut rig, _sent) = send("panic");
    assert_eq!(rig.last_words(), "panicked in execute: on command");
    assert_eq!(rig.exit(), Exit::Panicked);
    let mut rig = Rig::start(Echo::default());
    let panicking = model(with(faults(), &[("load_fault", "panic")]));
    rig.order(control_to_worker::Message::Load(Load { model: Some(panicking) }));
    assert_eq!(rig.last_words(), "panicked in load: on command");
}
