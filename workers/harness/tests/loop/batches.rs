use super::Scripted;
use nereid_worker::{
    Batch, DataType, ErrorCode, Exit, Pause, Value, WorkerError,
    proto::worker::{Cancel, Ping, control_to_supervisor as reply, control_to_worker, execution_to_worker},
    rig::{Ask, Layout},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

fn numbers(values: &[i32]) -> Ask {
    Ask::new().int32("A", &[1, i64::try_from(values.len()).unwrap()], values)
}

#[test]
fn inputs_are_read_and_outputs_written_in_shared_memory() {
    let mut rig = Scripted::mirror().loaded();
    for round in 0..3 {
        let ask = numbers(&[round, 2]).texts("T", &[1, 2], &["", "grün"]);
        let outcome = rig.execute(vec![ask]);
        let answer = outcome.only(0);
        assert_eq!(answer.output("A").int32(), [round, 2]);
        assert_eq!(answer.output("A").shape, [1, 2]);
        assert_eq!(answer.output("T").texts(), ["", "grün"]);
        assert_eq!(answer.tensors[0].offset % 64, 0);
    }
    assert_eq!(rig.needs.len(), 1, "released slots are used again");
    assert_eq!(rig.stop(), Exit::Stopped);
}

#[test]
fn what_a_client_sent_with_its_request_arrives() {
    let mut rig = Scripted::executing(|batch| {
        let request = &batch.requests()[0];
        assert_eq!((request.id(), request.flags()), ("seven", 3));
        assert!(request.is_sequence_start() && request.is_sequence_end());
        assert!(request.correlation().is_some());
        assert_eq!(request.parameter("p"), Some(&Value::Int64Value(-1)));
        assert_eq!(request.parameter("q"), None);
        assert!(request.wants("B") && !request.wants("A"));
        assert_eq!((request.rows(), request.inputs()[0].elements()), (1, 2));
        assert!(request.input("nothing").is_none());
        batch.complete(0).unwrap();
    })
    .loaded();
    let ask = numbers(&[1, 2]).id("seven").sequence(8, 3).wants("B").parameter("p", Value::Int64Value(-1));
    let outcome = rig.execute(vec![ask]);
    assert_eq!((outcome.only(0).outputs.len(), &outcome.only(0).error), (0, &None));
}

#[test]
fn one_request_may_fail_without_the_others() {
    let mut rig = Scripted::executing(|batch| {
        super::mirror(batch);
        batch.respond_error(1, WorkerError::invalid_argument("not this one"));
        batch.set_parameter(2, "p", Value::BoolValue(true)).unwrap();
    })
    .loaded();
    let outcome = rig.execute(vec![numbers(&[1]), numbers(&[2]), numbers(&[3])]);
    assert_eq!(outcome.only(0).output("A").int32(), [1]);
    assert_eq!(outcome.only(1).error(), "not this one");
    assert_eq!(outcome.only(1).error.as_ref().unwrap().code(), ErrorCode::InvalidArg);
    assert_eq!(outcome.only(2).output("A").int32(), [3]);
    assert_eq!(outcome.only(2).parameters[0].value, Some(Value::BoolValue(true)));
}

#[test]
fn a_request_that_the_backend_forgets_gets_an_error() {
    let mut rig = Scripted::executing(|batch| batch.complete(0).unwrap()).loaded();
    let outcome = rig.execute(vec![numbers(&[1]), numbers(&[2])]);
    assert_eq!(outcome.only(0).error, None);
    assert_eq!(outcome.only(1).error.as_ref().unwrap().code(), ErrorCode::Internal);
    assert!(outcome.only(1).error().contains("without answering"));
}

#[test]
fn what_the_supervisor_would_take_for_a_lie_is_an_error_of_the_backend() {
    let mut rig = Scripted::executing(|batch| {
        let told = |result: Result<&mut [u8], WorkerError>| result.map(drop).unwrap_err().message;
        assert!(told(batch.output(1, "X", DataType::Fp32, &[1])).contains("no request 1"));
        assert!(told(batch.output(0, "X", DataType::Fp32, &[-1])).contains("dimension 0 is -1"));
        assert!(told(batch.output(0, "X", DataType::Bytes, &[1])).contains("length has to be given"));
        let place = (DataType::Fp32, &[2_i64][..]);
        assert!(told(batch.output_with_len(0, "X", place, 4)).contains("takes 8"));
        let buffer = batch.allocate(5).unwrap();
        assert!(batch.attach(0, "X", place, buffer).unwrap_err().message.contains("5 bytes"));
        batch.output(0, "X", DataType::Fp32, &[1]).unwrap().fill(0);
        assert!(told(batch.output(0, "X", DataType::Fp32, &[1])).contains("given twice"));
    })
    .loaded();
    assert_eq!(rig.execute(vec![Ask::new()]).only(0).outputs.len(), 1);
}

#[test]
fn a_buffer_can_be_filled_first_and_attached_later() {
    let mut rig = Scripted::executing(|batch| {
        let mut first = batch.allocate(4).unwrap();
        let mut second = batch.allocate(8).unwrap();
        first.as_mut_slice().copy_from_slice(&7_i32.to_le_bytes());
        second.as_mut_slice().fill(1);
        batch.attach(0, "B", (DataType::Bool, &[8]), second).unwrap();
        batch.attach(0, "A", (DataType::Int32, &[]), first).unwrap();
        batch.output_elements(0, "C", &[2], &["x", ""]).unwrap();
    })
    .loaded();
    let outcome = rig.execute(vec![Ask::new()]);
    let answer = outcome.only(0);
    assert_eq!((answer.output("A").int32(), answer.output("A").shape.len()), (vec![7], 0));
    assert_eq!(answer.output("B").bytes, [1; 8]);
    assert_eq!(answer.output("C").texts(), ["x", ""]);
}

#[test]
fn responses_can_be_sent_one_by_one() {
    let mut rig = Scripted::executing(|batch| {
        for step in 0..3_i32 {
            let output = batch.output(0, "N", DataType::Int32, &[1]).unwrap();
            output.copy_from_slice(&step.to_le_bytes());
            batch.respond_now(0, step == 2).unwrap();
        }
        batch.output(1, "N", DataType::Int32, &[1]).unwrap().fill(0);
        batch.respond_now(1, false).unwrap();
        batch.respond_error(0, WorkerError::internal("too late to matter"));
        assert!(batch.output(0, "N", DataType::Int32, &[1]).is_err());
    })
    .loaded();
    let outcome = rig.execute(vec![Ask::new(), Ask::new()]);
    let first: Vec<_> = outcome.all(0).iter().map(|one| (one.output("N").int32()[0], one.last)).collect();
    assert_eq!(first, [(0, false), (1, false), (2, true)]);
    let second: Vec<_> = outcome.all(1).iter().map(|one| (one.outputs.len(), one.last)).collect();
    assert_eq!(second, [(1, false), (0, true)], "an empty final response is added");
}

#[test]
fn a_cancel_is_seen_by_the_request_that_it_names() {
    let mut rig = Scripted::executing(|batch| {
        if batch.pause_for(1, Duration::from_secs(30)) != Pause::Cancelled {
            panic!("the cancel did not come");
        }
        assert!(batch.is_cancelled(1) && !batch.is_cancelled(0));
        batch.respond_error_to_all(&WorkerError::cancelled("gone"));
    })
    .loaded();
    let sent = rig.send(vec![numbers(&[1]), numbers(&[2])], Layout::Adjacent);
    for ticket in [777, sent.tickets[1], sent.tickets[1]] {
        rig.tell(execution_to_worker::Message::Cancel(Cancel { ticket }));
    }
    let outcome = rig.finish(sent);
    assert_eq!(outcome.only(1).error.as_ref().unwrap().code(), ErrorCode::Cancelled);
}

#[test]
fn a_cancel_that_comes_before_its_batch_begins_is_kept() {
    let mut batches = 0;
    let mut rig = Scripted::executing(move |batch: &mut Batch<'_>| {
        batches += 1;
        if batches == 1 {
            // Until the second batch and its cancel are there.
            while batch.pause_for(0, Duration::from_secs(30)) != Pause::Cancelled {}
        }
        let cancelled = batch.is_cancelled(0);
        batch.set_parameter(0, "cancelled", Value::BoolValue(cancelled)).unwrap();
    })
    .loaded();
    let first = rig.send(vec![Ask::new()], Layout::Adjacent);
    let second = rig.send(vec![Ask::new()], Layout::Adjacent);
    for ticket in [second.tickets[0], first.tickets[0]] {
        rig.tell(execution_to_worker::Message::Cancel(Cancel { ticket }));
    }
    rig.finish(first);
    let outcome = rig.finish(second);
    assert_eq!(outcome.only(0).parameters[0].value, Some(Value::BoolValue(true)));
    let third = rig.execute(vec![Ask::new()]);
    assert_eq!(third.only(0).parameters[0].value, Some(Value::BoolValue(false)));
}

#[test]
fn a_pause_lasts_answers_pings_and_keeps_other_orders() {
    let mut rig = Scripted::executing(|batch| {
        let begin = Instant::now();
        assert_eq!(batch.pause(Duration::from_millis(50)), Pause::Elapsed);
        assert!(begin.elapsed() >= Duration::from_millis(50));
        batch.complete(0).unwrap();
    })
    .loaded();
    let sent = rig.send(vec![Ask::new()], Layout::Adjacent);
    rig.order(control_to_worker::Message::CheckReady(Default::default()));
    rig.order(control_to_worker::Message::Ping(Ping { nonce: 6 }));
    rig.finish(sent);
    let replies = [rig.reply(), rig.reply()];
    let is = |wanted: fn(&reply::Message) -> bool| replies.iter().any(wanted);
    assert!(is(|one| matches!(one, reply::Message::Pong(pong) if pong.nonce == 6)), "{replies:?}");
    assert!(is(|one| matches!(one, reply::Message::Readiness(readiness) if readiness.ready)), "{replies:?}");
}

#[test]
fn the_time_of_a_batch_is_told_in_three_parts() {
    let mut rig = Scripted::executing(|batch| {
        let step = Duration::from_millis(5);
        let _ = batch.pause(step);
        batch.mark_input_done();
        let _ = batch.pause(2 * step);
        batch.mark_infer_done();
        let _ = batch.pause(step);
        batch.complete(0).unwrap();
    })
    .loaded();
    let timing = rig.execute(vec![Ask::new()]).timing;
    assert!(timing.input_ns >= 5_000_000 && timing.infer_ns >= 10_000_000 && timing.output_ns >= 5_000_000);
    let mut rig = Scripted::executing(|batch| batch.complete(0).unwrap()).loaded();
    let timing = rig.execute(vec![Ask::new()]).timing;
    assert_eq!((timing.input_ns, timing.output_ns), (0, 0), "without marks, all is computation");
}

#[test]
fn an_answer_too_large_for_a_packet_arrives_all_the_same() {
    let mut rig = Scripted::executing(|batch| {
        for output in 0..2000 {
            let name = format!("{output}:{}", "x".repeat(100));
            batch.output(0, &name, DataType::Uint8, &[1]).unwrap().fill(9);
        }
    })
    .loaded();
    let outcome = rig.execute(vec![Ask::new()]);
    assert_eq!(outcome.only(0).outputs.len(), 2000);
    assert_eq!(rig.execute(vec![Ask::new()]).only(0).outputs[1999].bytes, [9]);
}

#[test]
fn batches_are_executed_in_the_order_in_which_they_came() {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let mut rig = Scripted::executing(move |batch| {
        let place = count.fetch_add(1, Ordering::Relaxed);
        let place = i64::try_from(place).unwrap();
        batch.set_parameter(0, "place", Value::Int64Value(place)).unwrap();
    })
    .loaded();
    let sent: Vec<_> = (0..20).map(|_| rig.send(vec![Ask::new()], Layout::Adjacent)).collect();
    for (place, sent) in (0..).zip(sent) {
        let outcome = rig.finish(sent);
        assert_eq!(outcome.only(0).parameters[0].value, Some(Value::Int64Value(place)));
    }
    assert_eq!(seen.load(Ordering::Relaxed), 20);
}

#[test]
fn a_batch_without_requests_does_not_trouble_the_backend() {
    let mut rig = Scripted::executing(|_| panic!("there is nothing to do")).loaded();
    assert!(rig.execute(vec![]).answers.is_empty());
    assert_eq!(rig.ping(1).batches_ended, 1);
}

#[test]
fn an_endless_error_text_is_cut() {
    let mut rig =
        Scripted::executing(|batch| batch.respond_error(0, WorkerError::internal("x".repeat(1 << 20))))
            .loaded();
    assert_eq!(rig.execute(vec![Ask::new()]).only(0).error().len(), 16 * 1024);
}

/// A parameter that fills half of the largest frame.
fn half() -> Value {
    Value::StringValue("x".repeat(600_000))
}

#[test]
fn answers_that_together_are_too_large_are_sent_apart() {
    let mut rig = Scripted::executing(|batch| {
        super::mirror(batch);
        for index in [0, 1, 3] {
            batch.set_parameter(index, "half", half()).unwrap();
        }
    })
    .loaded();
    // The first two have no outputs, so they need not stay with the others.
    let outcome = rig.execute(vec![Ask::new(), Ask::new(), numbers(&[1]), numbers(&[2])]);
    assert_eq!(outcome.only(2).output("A").int32(), [1]);
    assert_eq!(outcome.only(3).output("A").int32(), [2]);
    assert!((0..4).all(|index| outcome.only(index).error.is_none()));
}

#[test]
fn answers_that_are_still_too_large_become_errors_and_their_memory_comes_back() {
    let mut rig = Scripted::executing(|batch| {
        batch.joined_output("OUT", DataType::Int32, &[2]).unwrap().fill(1);
        batch.output(0, "LARGE", DataType::Uint8, &[700_000]).unwrap().fill(1);
        for index in [0, 1] {
            batch.set_parameter(index, "half", half()).unwrap();
        }
    })
    .loaded();
    for _ in 0..3 {
        let outcome = rig.execute(vec![numbers(&[1]), numbers(&[2])]);
        for index in [0, 1] {
            assert!(outcome.only(index).error().contains("more than 1048576 bytes to describe"));
        }
    }
    assert_eq!(rig.needs.len(), 1);
}

#[test]
fn a_single_response_that_is_too_large_becomes_an_error() {
    let mut rig = Scripted::executing(|batch| {
        for last in [false, true] {
            batch.set_parameter(0, "one", half()).unwrap();
            batch.set_parameter(0, "two", half()).unwrap();
            batch.output(0, "OUT", DataType::Uint8, &[700_000]).unwrap().fill(1);
            let told = batch.respond_now(0, last).unwrap_err();
            assert!(told.message.contains("to describe"), "{told}");
        }
    })
    .loaded();
    let outcome = rig.execute(vec![Ask::new()]);
    let all: Vec<_> = outcome.all(0).iter().map(|one| (one.error.is_some(), one.last)).collect();
    assert_eq!(all, [(true, false), (true, true)]);
    assert_eq!(rig.needs.len(), 1);
}
