//! What dynamic batching adds: when batches go, and to whom.

use super::*;

fn eager(max: u32) -> BatchPolicy {
    BatchPolicy::new(max, [], Duration::ZERO)
}

fn patient(max: u32) -> BatchPolicy {
    BatchPolicy::new(max, [], ms(10))
}

#[test]
fn what_waits_when_an_instance_becomes_free_goes_together() {
    let mut bench = Bench::dynamic(eager(3));
    bench.on(0, up(A));
    assert_eq!(bench.enqueue(0, 1), [run(A, 1, &[1])]);
    for ticket in 2..=6 {
        assert_eq!(bench.enqueue(0, ticket), []);
    }
    assert_eq!(bench.on(1, finished(A, 1)), [run(A, 2, &[2, 3, 4])]);
    assert_eq!(bench.on(2, finished(A, 2)), [run(A, 3, &[5, 6])]);
}

#[test]
fn what_arrives_before_actions_are_asked_for_goes_together() {
    let mut bench = Bench::dynamic(eager(8));
    bench.on(0, up(A));
    for ticket in 1..=3 {
        bench.0.handle(at(1), Event::Enqueue(request(ticket)));
    }
    assert_eq!(bench.deadline(), Some(at(1)), "there is something to ask for");
    assert_eq!(bench.actions(), [run(A, 1, &[1, 2, 3])]);
    assert_eq!(bench.deadline(), None);
}

#[test]
fn a_held_back_request_goes_when_its_delay_is_over() {
    let mut bench = Bench::dynamic(patient(4));
    bench.on(0, up(A));
    assert_eq!(bench.enqueue(5, 1), []);
    assert_eq!(bench.enqueue(9, 2), []);
    assert_eq!(bench.deadline(), Some(at(15)));
    assert_eq!(bench.expire(14), []);
    assert_eq!(bench.expire(15), [run(A, 1, &[1, 2])]);
    assert_eq!(bench.deadline(), None);
}

#[test]
fn a_full_batch_goes_before_its_delay_is_over() {
    let mut bench = Bench::dynamic(patient(2));
    bench.on(0, up(A));
    assert_eq!(bench.enqueue(0, 1), []);
    assert_eq!(bench.enqueue(1, 2), [run(A, 1, &[1, 2])]);
}

#[test]
fn a_delay_sets_no_timer_while_nobody_has_room() {
    let mut bench = Bench::dynamic(patient(4));
    assert_eq!(bench.enqueue(0, 1), []);
    assert_eq!(bench.deadline(), None);
    assert_eq!(bench.on(3, up(A)), []);
    assert_eq!(bench.deadline(), Some(at(10)));
    assert_eq!(bench.on(4, Event::InstanceDraining { instance: A }), []);
    assert_eq!(bench.deadline(), None);
    assert_eq!(bench.on(20, up(B)), [run(B, 1, &[1])], "its delay is over already");
}

#[test]
fn a_batch_that_can_grow_is_not_put_behind_another_one() {
    let mut bench = Bench::dynamic(eager(2));
    bench.on(0, Event::InstanceUp { instance: A, slots: 2 });
    assert_eq!(bench.enqueue(0, 1), [run(A, 1, &[1])]);
    assert_eq!(bench.enqueue(0, 2), [], "company may come");
    assert_eq!(bench.enqueue(0, 3), [run(A, 2, &[2, 3])], "no more can join");
    assert_eq!(bench.enqueue(0, 4), []);
    assert_eq!(bench.on(1, finished(A, 1)), [], "the second one still runs");
    assert_eq!(bench.on(2, finished(A, 2)), [run(A, 3, &[4])]);
}

#[test]
fn shapes_do_not_mix_and_each_batch_takes_another_instance() {
    let mut bench = Bench::dynamic(eager(4));
    bench.0.handle(at(0), up(A));
    bench.0.handle(at(0), up(B));
    for (ticket, shape_key) in [(1, 7), (2, 7), (3, 8)] {
        bench.0.handle(at(0), Event::Enqueue(QueuedRequest { shape_key, ..request(ticket) }));
    }
    assert_eq!(bench.actions(), [run(A, 1, &[1, 2]), run(B, 2, &[3])]);
}

#[test]
fn a_cancelled_request_leaves_room_in_its_batch() {
    let mut bench = Bench::dynamic(patient(2));
    bench.on(0, up(A));
    bench.enqueue(0, 1);
    assert_eq!(bench.on(1, Event::Cancel(Ticket(1))), [reject(1, RejectReason::Cancelled)]);
    assert_eq!(bench.deadline(), None);
    assert_eq!(bench.enqueue(2, 2), []);
    assert_eq!(bench.deadline(), Some(at(12)));
    assert_eq!(bench.enqueue(3, 3), [run(A, 1, &[2, 3])]);
}

#[test]
fn a_stop_holds_nobody_back() {
    let mut bench = Bench::dynamic(patient(4));
    bench.on(0, up(A));
    bench.enqueue(0, 1);
    assert_eq!(bench.on(1, Event::Stop), [run(A, 1, &[1])]);
    assert_eq!(bench.on(2, finished(A, 1)), [Action::Drained]);
}

#[test]
fn all_requests_of_a_lost_batch_are_lost() {
    let mut bench = Bench::dynamic(eager(4));
    for ticket in 1..=3 {
        bench.enqueue(0, ticket);
    }
    bench.on(0, up(A));
    assert_eq!(bench.on(1, Event::InstanceDown { instance: A }), [lost(1, A), lost(2, A), lost(3, A)]);
    assert_eq!(bench.0.open(), 0);
}
