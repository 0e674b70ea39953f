use super::*;

const A: InstanceId = InstanceId(0);
const B: InstanceId = InstanceId(1);

fn begin(placement: &mut Placement, batch: u64) -> InstanceId {
    let room = placement.choose().expect("there is room");
    placement.begin(room, BatchId(batch), &[Ticket(batch)]);
    room.instance
}

fn two_instances(slots: u32) -> Placement {
    let mut placement = Placement::default();
    placement.up(A, slots);
    placement.up(B, slots);
    placement
}

#[test]
fn nobody_is_chosen_where_nobody_has_room() {
    let mut placement = Placement::default();
    assert_eq!(placement.choose(), None);
    placement.up(A, 0);
    assert_eq!(placement.choose(), None, "an instance without slots is up and takes nothing");
    placement.up(A, 1);
    begin(&mut placement, 1);
    assert_eq!(placement.choose(), None);
}

#[test]
fn the_instance_with_the_fewest_batches_is_chosen() {
    let mut placement = two_instances(2);
    assert_eq!(begin(&mut placement, 1), A);
    assert_eq!(begin(&mut placement, 2), B);
    assert!(placement.end(A, BatchId(1), |_| {}));
    assert_eq!(begin(&mut placement, 3), A);
    assert!(!placement.choose().unwrap().idle);
}

#[test]
fn among_equals_the_one_that_worked_last_is_chosen() {
    let mut placement = two_instances(1);
    assert_eq!(begin(&mut placement, 1), A);
    assert_eq!(begin(&mut placement, 2), B);
    placement.end(A, BatchId(1), |_| {});
    placement.end(B, BatchId(2), |_| {});
    assert_eq!(begin(&mut placement, 3), B);
    placement.end(B, BatchId(3), |_| {});
    assert_eq!(begin(&mut placement, 4), B);
}

#[test]
fn an_end_that_did_not_begin_there_is_not_believed() {
    let mut placement = two_instances(1);
    begin(&mut placement, 1);
    for (instance, batch) in [(A, 9), (B, 1), (InstanceId(7), 1)] {
        assert!(!placement.end(instance, BatchId(batch), |_| panic!("no ticket ends")));
    }
    let mut ended = Vec::new();
    assert!(placement.end(A, BatchId(1), |ticket| ended.push(ticket)));
    assert!(!placement.end(A, BatchId(1), |_| panic!("no ticket ends twice")));
    assert_eq!(ended, [Ticket(1)]);
    assert_eq!(placement.in_flight(), 0);
}

#[test]
fn an_instance_that_drains_finishes_and_takes_nothing_new() {
    let mut placement = two_instances(2);
    begin(&mut placement, 1);
    placement.drain(A);
    assert_eq!(begin(&mut placement, 2), B);
    assert_eq!(begin(&mut placement, 3), B);
    assert_eq!(placement.choose(), None);
    assert!(placement.end(A, BatchId(1), |_| {}));
    assert_eq!(placement.choose(), None);
    placement.up(A, 2);
    assert_eq!(placement.choose().unwrap().instance, A);
}

#[test]
fn what_an_instance_worked_on_is_returned_when_it_goes_down() {
    let mut placement = Placement::default();
    placement.up(A, 3);
    for batch in 1..=3 {
        begin(&mut placement, batch);
    }
    placement.end(A, BatchId(1), |_| {});
    assert_eq!(placement.down(A), [Ticket(2), Ticket(3)], "in the order in which they began");
    assert_eq!(placement.down(A), []);
    assert_eq!(placement.in_flight(), 0);
    placement.up(A, 1);
    assert!(placement.choose().unwrap().idle, "its next life starts empty");
}
