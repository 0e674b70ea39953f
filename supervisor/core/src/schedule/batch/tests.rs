//! The rules of forming a batch, each by a queue and a time set by hand.

use super::super::QueuedRequest;
use super::super::policy::{LevelPolicy, QueuePolicy};
use super::super::queue::Queue;
use super::*;
use crate::ids::Ticket;
use crate::time::Duration;

const DELAY: Duration = Duration::from_millis(10);

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// A queue of (rows, shape, arrival in milliseconds).
fn queue(requests: &[(u32, u64, u64)]) -> Queue {
    let mut queue = Queue::new(QueuePolicy::single(LevelPolicy::default()));
    for (ticket, &(batch_size, shape_key, arrival)) in (1..).zip(requests) {
        let request =
            QueuedRequest { ticket: Ticket(ticket), batch_size, shape_key, priority: 0, timeout: None };
        queue.push(at(arrival), &request).unwrap();
    }
    queue
}

/// Requests of one shape that arrived at 0.
fn rows(rows: &[u32]) -> Queue {
    queue(&rows.iter().map(|&rows| (rows, 0, 0)).collect::<Vec<_>>())
}

fn eager(max: u32, preferred: &[u32]) -> BatchPolicy {
    BatchPolicy::new(max, preferred.iter().copied(), Duration::ZERO)
}

fn patient(max: u32, preferred: &[u32]) -> BatchPolicy {
    BatchPolicy::new(max, preferred.iter().copied(), DELAY)
}

fn verdict(policy: &BatchPolicy, now: u64, queue: &Queue) -> Verdict {
    form(policy, at(now), false, queue.iter())
}

fn send(requests: usize, full: bool) -> Verdict {
    Verdict::Send { requests, full }
}

#[test]
fn nothing_comes_of_an_empty_queue() {
    assert_eq!(verdict(&eager(4, &[]), 0, &rows(&[])), Verdict::Nothing);
}

#[test]
fn without_a_delay_all_that_waits_goes_up_to_the_greatest_size() {
    assert_eq!(verdict(&eager(4, &[]), 0, &rows(&[1])), send(1, false));
    assert_eq!(verdict(&eager(4, &[]), 0, &rows(&[1, 1, 1])), send(3, false));
    assert_eq!(verdict(&eager(4, &[]), 0, &rows(&[1; 4])), send(4, true));
    assert_eq!(verdict(&eager(4, &[]), 0, &rows(&[1; 9])), send(4, true));
}

#[test]
fn a_batch_counts_rows_and_never_splits_a_request() {
    assert_eq!(verdict(&eager(4, &[]), 0, &rows(&[2, 2, 2])), send(2, true));
    assert_eq!(verdict(&eager(4, &[]), 0, &rows(&[3, 2, 1])), send(1, true), "nobody is overtaken");
}

#[test]
fn a_batch_ends_at_another_shape() {
    let queue = queue(&[(1, 7, 0), (1, 7, 0), (1, 8, 0), (1, 7, 0)]);
    assert_eq!(verdict(&eager(4, &[]), 0, &queue), send(2, true));
    assert_eq!(verdict(&patient(4, &[]), 0, &queue), send(2, true), "it cannot grow, so it does not wait");
}

#[test]
fn the_longest_prefix_of_a_preferred_size_goes() {
    assert_eq!(verdict(&eager(8, &[2, 4]), 0, &rows(&[1; 5])), send(4, true));
    assert_eq!(verdict(&eager(8, &[2, 4]), 0, &rows(&[1; 3])), send(2, true));
    assert_eq!(verdict(&patient(8, &[2, 4]), 0, &rows(&[1; 7])), send(4, true));
    assert_eq!(verdict(&patient(8, &[2, 4]), 0, &rows(&[1; 2])), send(2, false), "it could grow to 4");
}

#[test]
fn a_request_that_would_pass_the_greatest_preferred_size_ends_the_batch_before_it() {
    assert_eq!(verdict(&patient(12, &[8]), 0, &rows(&[3, 3, 3])), send(2, true));
}

#[test]
fn a_request_is_held_back_for_company_and_no_longer_than_the_delay() {
    let queue = queue(&[(1, 0, 5), (1, 0, 9)]);
    assert_eq!(verdict(&patient(4, &[]), 9, &queue), Verdict::Wait(at(15)));
    assert_eq!(verdict(&patient(4, &[]), 14, &queue), Verdict::Wait(at(15)));
    assert_eq!(verdict(&patient(4, &[]), 15, &queue), send(2, false));
}

#[test]
fn a_full_batch_does_not_wait() {
    assert_eq!(verdict(&patient(4, &[]), 0, &rows(&[1; 4])), send(4, true));
    assert_eq!(verdict(&patient(4, &[]), 0, &rows(&[3, 2])), send(1, true));
}

#[test]
fn after_the_delay_more_than_a_preferred_size_goes() {
    assert_eq!(verdict(&patient(8, &[4]), 9, &rows(&[1; 6])), send(4, true));
    assert_eq!(verdict(&patient(8, &[4]), 10, &rows(&[1; 6])), send(6, true));
    assert_eq!(verdict(&patient(8, &[4]), 10, &rows(&[1; 20])), send(8, true));
    assert_eq!(verdict(&patient(8, &[4]), 10, &rows(&[3, 3, 3])), send(2, true));
}

#[test]
fn when_no_more_will_come_nobody_is_held_back() {
    assert_eq!(form(&patient(8, &[4]), at(0), true, rows(&[1]).iter()), send(1, false));
}

#[test]
fn a_request_larger_than_any_batch_runs_alone() {
    assert_eq!(verdict(&eager(4, &[]), 0, &rows(&[9, 1])), send(1, true));
    assert_eq!(verdict(&patient(4, &[]), 0, &rows(&[9, 1])), send(1, true));
}

#[test]
fn preferred_sizes_that_make_no_sense_are_left_out() {
    assert_eq!(eager(4, &[0, 9]), eager(4, &[]));
    assert_eq!(eager(4, &[4, 2, 2]), eager(4, &[2, 4]));
    assert_eq!(eager(0, &[]).max_batch_size(), 1);
}
