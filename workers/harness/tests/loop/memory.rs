use super::Scripted;
use nereid_worker::{
    Batch, DataType, ErrorCode, Exit, WorkerError,
    proto::worker::{
        Release, RemoveSegment, add_segment::Direction, control_to_worker, execution_to_supervisor,
        execution_to_worker,
    },
    rig::{Ask, Layout},
};

const MIB: usize = 1024 * 1024;

/// Answers with as many bytes as the first element of N says.
fn grow(batch: &mut Batch<'_>) {
    for (index, request) in batch.requests().iter().enumerate() {
        let length =
            request.inputs()[0].bytes().first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).unwrap();
        match batch.output(index, "OUT", DataType::Uint8, &[i64::from(length)]) {
            Ok(output) => output.fill(7),
            Err(error) => batch.respond_error(index, error),
        }
    }
}

fn bytes(length: usize) -> Ask {
    Ask::new().uint32("N", &[1], &[u32::try_from(length).unwrap()])
}

#[test]
fn the_arena_grows_when_an_output_does_not_fit() {
    let mut rig = Scripted::executing(grow).loaded();
    for length in [10, 3 * MIB, 10, 2 * MIB, 0] {
        let outcome = rig.execute(vec![bytes(length)]);
        assert!(outcome.only(0).output("OUT").bytes == vec![7; length]);
    }
    assert_eq!(rig.needs, [10, 3 * MIB as u64], "what came back was used again");
}

#[test]
fn a_refused_need_fails_its_request_and_nothing_else() {
    let mut rig = Scripted::executing(grow).loaded().with_output_limit(2 * MIB as u64);
    let outcome = rig.execute(vec![bytes(10), bytes(3 * MIB), bytes(20)]);
    assert_eq!(outcome.only(0).output("OUT").bytes, [7; 10]);
    assert_eq!(outcome.only(2).output("OUT").bytes, [7; 20]);
    let refused = outcome.only(1);
    assert_eq!(refused.error.as_ref().unwrap().code(), ErrorCode::Unavailable);
    assert!(
        refused.error().contains("3145728 bytes") && refused.error().contains("limited to 2097152 bytes")
    );
    let outcome = rig.execute(vec![bytes(MIB / 2)]);
    assert_eq!(outcome.only(0).output("OUT").bytes.len(), MIB / 2);
}

#[test]
fn slots_that_come_back_can_be_enough() {
    let mut rig = Scripted::executing(grow).loaded().with_output_limit(MIB as u64);
    let first = rig.execute(vec![bytes(MIB)]);
    let slot = first.only(0).tensors[0].slot;
    let sent = rig.send_keeping_slots(vec![bytes(MIB / 2)]);
    let execution_to_supervisor::Message::NeedSegment(need) = rig.listen() else { panic!("no need") };
    assert_eq!(need.length, MIB as u64 / 2);
    rig.tell(execution_to_worker::Message::Release(Release { slots: vec![slot] }));
    let outcome = rig.finish(sent);
    assert_eq!(outcome.only(0).output("OUT").bytes.len(), MIB / 2);
    assert_eq!(rig.needs.len(), 1, "the second need was met by a release");
}

#[test]
fn a_need_is_told_again_when_releases_were_too_little() {
    let mut rig = Scripted::executing(grow).loaded();
    let first = rig.execute(vec![bytes(MIB / 2), bytes(MIB / 2)]);
    let sent = rig.send_keeping_slots(vec![bytes(MIB)]);
    let execution_to_supervisor::Message::NeedSegment(_) = rig.listen() else { panic!("no need") };
    let slots = vec![first.only(0).tensors[0].slot];
    rig.tell(execution_to_worker::Message::Release(Release { slots }));
    let execution_to_supervisor::Message::NeedSegment(again) = rig.listen() else { panic!("no second need") };
    rig.give(again);
    assert_eq!(rig.finish(sent).only(0).output("OUT").bytes.len(), MIB);
}

#[test]
fn while_a_batch_waits_for_memory_others_queue_and_pings_are_answered() {
    let mut rig = Scripted::executing(grow).loaded();
    let first = rig.send(vec![bytes(1)], Layout::Adjacent);
    let execution_to_supervisor::Message::NeedSegment(need) = rig.listen() else { panic!("no need") };
    let second = rig.send(vec![bytes(2)], Layout::Adjacent);
    assert_eq!(rig.ping(3).batches_begun, 1);
    rig.give(need);
    assert_eq!(rig.finish(first).only(0).output("OUT").bytes, [7; 1]);
    assert_eq!(rig.finish(second).only(0).output("OUT").bytes, [7; 2]);
    assert_eq!(rig.stop(), Exit::Stopped);
}

#[test]
fn more_waiting_batches_than_the_bound_break_the_protocol() {
    let mut rig = Scripted::executing(grow).loaded();
    let _waiting = rig.send(vec![bytes(1)], Layout::Adjacent);
    let execution_to_supervisor::Message::NeedSegment(_) = rig.listen() else { panic!("no need") };
    for _ in 0..65 {
        rig.send(vec![], Layout::Adjacent);
    }
    assert!(rig.last_words().contains("more than 64 batches wait"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn more_waiting_orders_than_the_bound_break_the_protocol() {
    let mut rig = Scripted::executing(grow).loaded();
    let _waiting = rig.send(vec![bytes(1)], Layout::Adjacent);
    let execution_to_supervisor::Message::NeedSegment(_) = rig.listen() else { panic!("no need") };
    for _ in 0..65 {
        rig.order(control_to_worker::Message::CheckReady(Default::default()));
    }
    assert!(rig.last_words().contains("more than 64 control messages wait"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn memory_of_answers_that_are_thrown_away_comes_back() {
    let mut rig = Scripted::executing(|batch| {
        for _ in 0..3 {
            drop(batch.allocate(MIB / 2).unwrap());
        }
        batch.output(0, "OUT", DataType::Uint8, &[MIB as i64 / 2]).unwrap().fill(1);
        batch.respond_error(0, WorkerError::internal("changed its mind"));
    })
    .loaded();
    for _ in 0..5 {
        assert_eq!(rig.execute(vec![Ask::new()]).only(0).error(), "changed its mind");
    }
    assert_eq!(rig.needs, [MIB as u64 / 2]);
}

#[test]
fn a_removed_segment_is_used_no_more() {
    let mut rig = Scripted::executing(grow).loaded();
    let before = rig.execute(vec![bytes(1)]);
    let segment = before.only(0).tensors[0].segment;
    rig.tell(execution_to_worker::Message::RemoveSegment(RemoveSegment {
        segment,
        direction: Direction::Output.into(),
    }));
    let after = rig.execute(vec![bytes(1)]);
    assert_ne!(after.only(0).tensors[0].segment, segment);
}
