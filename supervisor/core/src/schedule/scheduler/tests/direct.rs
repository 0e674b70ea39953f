//! What holds for every scheduler, shown where each request runs alone.

use super::*;

#[test]
fn a_request_runs_at_once_where_an_instance_is_free() {
    let mut bench = Bench::direct(LevelPolicy::default());
    assert_eq!(bench.on(0, up(A)), []);
    assert_eq!(bench.enqueue(0, 1), [run(A, 1, &[1])]);
    assert_eq!(bench.enqueue(0, 2), []);
    assert_eq!(bench.on(1, finished(A, 1)), [run(A, 2, &[2])]);
    assert_eq!(bench.on(2, finished(A, 2)), []);
    assert_eq!((bench.0.open(), bench.0.queued(), bench.0.in_flight()), (0, 0, 0));
}

#[test]
fn requests_wait_for_the_first_instance_in_order() {
    let mut bench = Bench::direct(LevelPolicy::default());
    for ticket in 1..=3 {
        assert_eq!(bench.enqueue(0, ticket), []);
    }
    let slots = Event::InstanceUp { instance: A, slots: 2 };
    assert_eq!(bench.on(1, slots), [run(A, 1, &[1]), run(A, 2, &[2])]);
}

#[test]
fn one_more_than_the_queue_holds_is_refused() {
    let mut bench = Bench::direct(LevelPolicy { max_queue_size: 2, ..LevelPolicy::default() });
    bench.on(0, up(A));
    for ticket in 1..=3 {
        bench.enqueue(0, ticket);
    }
    assert_eq!(bench.enqueue(0, 4), [reject(4, RejectReason::QueueFull)], "one runs and two wait");
    bench.on(0, finished(A, 1));
    assert_eq!(bench.enqueue(0, 5), []);
}

#[test]
fn a_burst_is_not_refused_while_instances_are_free() {
    let mut bench = Bench::direct(LevelPolicy { max_queue_size: 1, ..LevelPolicy::default() });
    bench.0.handle(at(0), up(A));
    bench.0.handle(at(0), up(B));
    for ticket in 1..=4 {
        bench.0.handle(at(0), Event::Enqueue(request(ticket)));
    }
    assert_eq!(bench.actions(), [run(A, 1, &[1]), run(B, 2, &[2]), reject(4, RejectReason::QueueFull)]);
    assert_eq!(bench.0.queued(), 1);
}

#[test]
fn a_request_that_waited_too_long_is_refused_at_its_deadline() {
    let mut bench = Bench::direct(timed(TimeoutAction::Reject));
    bench.enqueue(5, 1);
    assert_eq!(bench.deadline(), Some(at(15)));
    assert_eq!(bench.expire(14), []);
    assert_eq!(bench.expire(15), [reject(1, RejectReason::TimedOut)]);
    assert_eq!(bench.deadline(), None);
}

#[test]
fn a_request_never_runs_after_its_deadline_even_when_the_timer_is_late() {
    let mut bench = Bench::direct(timed(TimeoutAction::Reject));
    bench.enqueue(0, 1);
    bench.enqueue(1, 2);
    assert_eq!(bench.on(10, up(A)), [reject(1, RejectReason::TimedOut), run(A, 1, &[2])]);
    assert_eq!(bench.deadline(), None, "one that runs has no deadline");
}

#[test]
fn a_delayed_request_runs_after_those_in_time() {
    let mut bench = Bench::direct(timed(TimeoutAction::Delay));
    bench.enqueue(0, 1);
    bench.enqueue(5, 2);
    assert_eq!(bench.expire(10), []);
    assert_eq!(bench.on(11, up(A)), [run(A, 1, &[2])]);
    assert_eq!(bench.on(12, finished(A, 1)), [run(A, 2, &[1])]);
}

#[test]
fn a_cancelled_request_leaves_the_queue() {
    let mut bench = Bench::direct(LevelPolicy::default());
    for ticket in 1..=3 {
        bench.enqueue(0, ticket);
    }
    assert_eq!(bench.on(0, Event::Cancel(Ticket(2))), [reject(2, RejectReason::Cancelled)]);
    assert_eq!(bench.on(0, Event::Cancel(Ticket(2))), [], "it has ended");
    assert_eq!(bench.on(0, up(A)), [run(A, 1, &[1])]);
    assert_eq!(bench.on(0, finished(A, 1)), [run(A, 2, &[3])]);
}

#[test]
fn a_running_request_is_cancelled_at_its_instance_once() {
    let mut bench = Bench::direct(LevelPolicy::default());
    bench.on(0, up(A));
    bench.enqueue(0, 1);
    let cancel = Action::CancelRunning { ticket: Ticket(1), instance: A };
    assert_eq!(bench.on(0, Event::Cancel(Ticket(1))), [cancel]);
    assert_eq!(bench.on(0, Event::Cancel(Ticket(1))), []);
    assert_eq!(bench.on(0, finished(A, 1)), []);
    assert_eq!(bench.0.open(), 0);
}

#[test]
fn what_an_instance_worked_on_is_lost_with_it_and_nothing_else() {
    let mut bench = Bench::direct(LevelPolicy::default());
    bench.on(0, up(A));
    bench.on(0, up(B));
    for ticket in 1..=3 {
        bench.enqueue(0, ticket);
    }
    assert_eq!(bench.on(1, Event::InstanceDown { instance: A }), [lost(1, A)]);
    assert_eq!(bench.on(1, Event::InstanceDown { instance: A }), []);
    assert_eq!(bench.on(2, finished(A, 1)), [], "its last words come too late");
    assert_eq!(bench.on(3, up(A)), [run(A, 3, &[3])], "its next life takes the next request");
    assert_eq!(bench.on(4, finished(A, 1)), [], "and does not end what the former life worked on");
    assert_eq!(bench.0.in_flight(), 2);
}

#[test]
fn an_end_that_is_not_true_ends_nothing() {
    let mut bench = Bench::direct(LevelPolicy::default());
    bench.on(0, up(A));
    bench.on(0, up(B));
    bench.enqueue(0, 1);
    for lie in [finished(A, 2), finished(B, 1), finished(InstanceId(9), 1)] {
        assert_eq!(bench.on(0, lie), []);
    }
    assert_eq!(bench.0.in_flight(), 1);
}

#[test]
fn an_instance_that_drains_takes_nothing_new() {
    let mut bench = Bench::direct(LevelPolicy::default());
    bench.on(0, up(A));
    bench.enqueue(0, 1);
    bench.enqueue(0, 2);
    assert_eq!(bench.on(0, Event::InstanceDraining { instance: A }), []);
    assert_eq!(bench.on(1, finished(A, 1)), []);
    assert_eq!(bench.on(2, Event::InstanceDown { instance: A }), [], "the first one had ended well");
    assert_eq!(bench.on(3, up(A)), [run(A, 2, &[2])]);
}

#[test]
fn when_no_instance_will_come_all_are_refused_until_there_is_hope() {
    let reason: Arc<str> = "all instances failed".into();
    let refusal = RejectReason::Unavailable(Arc::clone(&reason));
    let mut bench = Bench::direct(LevelPolicy::default());
    bench.on(0, up(A));
    for ticket in 1..=3 {
        bench.enqueue(0, ticket);
    }
    let refused = bench.on(1, Event::Unavailable { reason: Arc::clone(&reason) });
    assert_eq!(refused, [reject(2, refusal.clone()), reject(3, refusal.clone())], "what runs may finish");
    assert_eq!(bench.enqueue(2, 4), [reject(4, refusal.clone())]);
    assert_eq!(bench.on(3, Event::Available), []);
    assert_eq!(bench.enqueue(3, 5), []);
    bench.on(4, Event::Unavailable { reason });
    assert_eq!(bench.on(5, up(B)), [], "an instance that is up is hope as well");
    assert_eq!(bench.enqueue(5, 6), [run(B, 2, &[6])]);
    assert_eq!(refusal.to_error().message, "all instances failed");
}

#[test]
fn after_a_stop_the_queue_runs_dry_and_nothing_enters() {
    let mut bench = Bench::direct(LevelPolicy::default());
    bench.on(0, up(A));
    bench.enqueue(0, 1);
    bench.enqueue(0, 2);
    assert_eq!(bench.on(1, Event::Stop), []);
    assert_eq!(bench.enqueue(1, 3), [reject(3, RejectReason::Stopping)]);
    assert_eq!(bench.on(2, finished(A, 1)), [run(A, 2, &[2])]);
    assert_eq!(bench.on(3, finished(A, 2)), [Action::Drained]);
    assert_eq!(bench.enqueue(4, 4), [reject(4, RejectReason::Stopping)], "drained is said once");
}

#[test]
fn a_stop_of_an_idle_scheduler_is_done_at_once() {
    assert_eq!(Bench::direct(LevelPolicy::default()).on(0, Event::Stop), [Action::Drained]);
}

#[test]
fn a_stop_without_instances_can_be_cut_short() {
    let mut bench = Bench::direct(LevelPolicy::default());
    bench.enqueue(0, 1);
    assert_eq!(bench.on(1, Event::Stop), []);
    let reason: Arc<str> = "the time is over".into();
    let refusal = RejectReason::Unavailable(Arc::clone(&reason));
    assert_eq!(bench.on(2, Event::Unavailable { reason }), [reject(1, refusal), Action::Drained]);
    assert_eq!(bench.enqueue(3, 2), [reject(2, RejectReason::Stopping)], "it stays stopped");
}

#[test]
fn the_words_of_a_refusal_are_those_that_clients_know() {
    let words = |reason: RejectReason| (reason.has_request_id(), reason.to_error().as_status().to_string());
    assert_eq!(words(RejectReason::QueueFull), (true, "Unavailable: Exceeds maximum queue size".to_owned()));
    assert_eq!(words(RejectReason::TimedOut), (false, "Unavailable: Request timeout expired".to_owned()));
    assert_eq!(words(RejectReason::Cancelled), (false, "Cancelled: ".to_owned()));
    let stopping =
        "Unavailable: Server is stopping, scheduler for model has stopped accepting new inference requests";
    assert_eq!(words(RejectReason::Stopping), (true, stopping.to_owned()));
}
