use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::time::Duration;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn request(ticket: u64) -> QueuedRequest {
    QueuedRequest { ticket: Ticket(ticket), batch_size: 1, shape_key: 0, priority: 0, timeout: None }
}

fn bounded(max_queue_size: u32) -> LevelPolicy {
    LevelPolicy { max_queue_size, ..LevelPolicy::default() }
}

/// Time-outs of 10 ms that a request may shorten.
fn timed(timeout_action: TimeoutAction) -> LevelPolicy {
    LevelPolicy {
        default_timeout: Duration::from_millis(10),
        allow_timeout_override: true,
        timeout_action,
        ..LevelPolicy::default()
    }
}

fn single(level: LevelPolicy) -> Queue {
    Queue::new(QueuePolicy::single(level))
}

fn order(queue: &Queue) -> Vec<u64> {
    queue.iter().map(|waiting| waiting.ticket.0).collect()
}

#[test]
fn requests_leave_in_the_order_of_their_arrival() {
    let mut queue = single(bounded(0));
    for ticket in 1..=3 {
        queue.push(at(0), &request(ticket)).unwrap();
    }
    assert_eq!(order(&queue), [1, 2, 3]);
    assert_eq!(queue.pop().unwrap().ticket, Ticket(1));
    assert_eq!(queue.len(), 2);
}

#[test]
fn the_bound_is_exact_and_a_removed_request_makes_room() {
    let mut queue = single(bounded(2));
    let first = queue.push(at(0), &request(1)).unwrap();
    queue.push(at(0), &request(2)).unwrap();
    assert_eq!(queue.push(at(0), &request(3)), Err(Full));
    assert!(queue.remove(first));
    assert!(!queue.remove(first), "it can leave once only");
    queue.push(at(0), &request(4)).unwrap();
    assert_eq!(order(&queue), [2, 4]);
}

#[test]
fn the_bound_counts_each_level_by_itself() {
    let mut queue = Queue::new(QueuePolicy::levels(vec![bounded(1), bounded(1)], 2));
    queue.push(at(0), &QueuedRequest { priority: 1, ..request(1) }).unwrap();
    queue.push(at(0), &QueuedRequest { priority: 2, ..request(2) }).unwrap();
    assert_eq!(queue.push(at(0), &QueuedRequest { priority: 1, ..request(3) }), Err(Full));
}

#[test]
fn a_level_goes_before_the_next_and_unknown_priorities_are_the_default_level() {
    let mut queue = Queue::new(QueuePolicy::levels(vec![bounded(0); 3], 2));
    for (ticket, priority) in [(1, 3), (2, 0), (3, 1), (4, 9), (5, 2), (6, 1)] {
        queue.push(at(0), &QueuedRequest { priority, ..request(ticket) }).unwrap();
    }
    assert_eq!(order(&queue), [3, 6, 2, 4, 5, 1]);
}

#[test]
fn a_request_expires_at_its_deadline_and_not_before() {
    let mut queue = single(timed(TimeoutAction::Reject));
    queue.push(at(5), &request(1)).unwrap();
    assert_eq!(queue.next_deadline(), Some(at(15)));
    assert_eq!(queue.expire(at(14)), None);
    assert_eq!(queue.expire(at(15)), Some(Expired::Rejected(Ticket(1))));
    assert_eq!(queue.next_deadline(), None);
    assert!(queue.is_empty());
}

#[test]
fn a_request_may_shorten_the_time_and_not_lengthen_it() {
    let mut queue = single(timed(TimeoutAction::Reject));
    let asks =
        |ticket, millis| QueuedRequest { timeout: Some(Duration::from_millis(millis)), ..request(ticket) };
    queue.push(at(0), &asks(1, 50)).unwrap();
    queue.push(at(0), &asks(2, 3)).unwrap();
    queue.push(at(0), &asks(3, 0)).unwrap();
    assert_eq!(queue.next_deadline(), Some(at(3)));
    assert_eq!(queue.expire(at(9)), Some(Expired::Rejected(Ticket(2))));
    assert_eq!(queue.expire(at(9)), None, "zero is the same as none");
    assert_eq!(queue.next_deadline(), Some(at(10)));
}

#[test]
fn a_request_may_ask_for_a_time_where_the_level_has_none() {
    let allowed = LevelPolicy { allow_timeout_override: true, ..LevelPolicy::default() };
    let asks = QueuedRequest { timeout: Some(Duration::from_millis(3)), ..request(1) };
    let mut queue = single(allowed);
    queue.push(at(0), &asks).unwrap();
    assert_eq!(queue.next_deadline(), Some(at(3)));
    let mut queue = single(LevelPolicy::default());
    queue.push(at(0), &asks).unwrap();
    assert_eq!(queue.next_deadline(), None, "not where overriding is off");
}

#[test]
fn a_delayed_request_waits_on_behind_its_level() {
    let mut queue = Queue::new(QueuePolicy::levels(vec![timed(TimeoutAction::Delay), bounded(0)], 1));
    queue.push(at(0), &request(1)).unwrap();
    queue.push(at(5), &request(2)).unwrap();
    queue.push(at(5), &QueuedRequest { priority: 2, ..request(3) }).unwrap();
    let Some(Expired::Moved(Ticket(1), place)) = queue.expire(at(10)) else { panic!("it moves") };
    assert_eq!(order(&queue), [2, 1, 3]);
    assert_eq!(queue.next_deadline(), Some(at(15)), "it has no second deadline");
    assert_eq!(queue.iter().nth(1).unwrap().enqueued, at(0), "it keeps its age");
    assert!(queue.remove(place));
    assert_eq!(order(&queue), [2, 3]);
}

#[test]
fn cancelled_requests_do_not_pile_up_behind_one_that_stays() {
    let mut queue = single(bounded(10));
    queue.push(at(0), &request(0)).unwrap();
    for ticket in 1..10_000 {
        let place = queue.push(at(0), &request(ticket)).unwrap();
        assert!(queue.remove(place));
    }
    assert!(queue.lanes[0].entries.len() <= 2 * (GAPS_MIN + 1));
    assert_eq!(order(&queue), [0]);
}

#[derive(Clone, Debug)]
enum Operation {
    Push { priority: u64, timeout: u64 },
    Pop,
    Remove(usize),
    Pass(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..4_u64, 0..15_u64).prop_map(|(priority, timeout)| Operation::Push { priority, timeout }),
        2 => Just(Operation::Pop),
        2 => any::<usize>().prop_map(Operation::Remove),
        1 => (0..8_u64).prop_map(Operation::Pass),
    ]
}

/// The same queue, written for plainness: (ticket, deadline) in plain lists.
struct Plain {
    lanes: [VecDeque<(u64, Option<u64>)>; 4],
    capacity: usize,
    now: u64,
}

impl Plain {
    /// Level 1 rejects, level 2 delays; other priorities are level 2.
    fn push(&mut self, ticket: u64, priority: u64, timeout: u64) -> bool {
        let lane = if priority == 1 { 0 } else { 2 };
        if self.lanes[lane].len() + self.lanes[lane + 1].len() >= self.capacity {
            return false;
        }
        let timeout = if timeout == 0 { 10 } else { timeout.min(10) };
        self.lanes[lane].push_back((ticket, Some(self.now + timeout)));
        true
    }

    fn pop(&mut self) -> Option<u64> {
        self.lanes.iter_mut().find_map(|lane| lane.pop_front()).map(|(ticket, _)| ticket)
    }

    fn expire(&mut self) {
        let now = self.now;
        let due = |&(_, deadline): &(u64, Option<u64>)| deadline.is_some_and(|deadline| deadline <= now);
        self.lanes[0].retain(|entry| !due(entry));
        let mut delayed: Vec<_> = self.lanes[2].iter().copied().filter(due).collect();
        delayed.sort_by_key(|&(ticket, deadline)| (deadline, ticket));
        self.lanes[2].retain(|entry| !due(entry));
        self.lanes[3].extend(delayed.into_iter().map(|(ticket, _)| (ticket, None)));
    }

    fn order(&self) -> Vec<u64> {
        self.lanes.iter().flatten().map(|&(ticket, _)| ticket).collect()
    }

    fn next_deadline(&self) -> Option<u64> {
        self.lanes.iter().flatten().filter_map(|&(_, deadline)| deadline).min()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn it_behaves_as_plain_lists_do(operations in prop::collection::vec(operation(), 1..120)) {
        const CAPACITY: u32 = 12;
        let level = |action| LevelPolicy { max_queue_size: CAPACITY, ..timed(action) };
        let levels = vec![level(TimeoutAction::Reject), level(TimeoutAction::Delay)];
        let mut queue = Queue::new(QueuePolicy::levels(levels, 2));
        let mut plain = Plain { lanes: Default::default(), capacity: CAPACITY as usize, now: 0 };
        let mut places = std::collections::HashMap::new();
        for (ticket, operation) in (1..).zip(operations) {
            match operation {
                Operation::Push { priority, timeout } => {
                    let request = QueuedRequest {
                        priority,
                        timeout: Some(Duration::from_millis(timeout)),
                        ..request(ticket)
                    };
                    let pushed = queue.push(at(plain.now), &request);
                    prop_assert_eq!(pushed.is_ok(), plain.push(ticket, priority, timeout));
                    if let Ok(place) = pushed {
                        places.insert(ticket, place);
                    }
                }
                Operation::Pop => {
                    prop_assert_eq!(queue.pop().map(|waiting| waiting.ticket.0), plain.pop());
                }
                Operation::Remove(index) => {
                    let order = plain.order();
                    if let Some(&victim) = order.get(index % order.len().max(1)) {
                        prop_assert!(queue.remove(places[&victim]));
                        prop_assert!(!queue.remove(places[&victim]));
                        for lane in &mut plain.lanes {
                            lane.retain(|&(ticket, _)| ticket != victim);
                        }
                    }
                }
                Operation::Pass(millis) => {
                    plain.now += millis;
                    plain.expire();
                    while let Some(expired) = queue.expire(at(plain.now)) {
                        if let Expired::Moved(ticket, place) = expired {
                            places.insert(ticket.0, place);
                        }
                    }
                }
            }
            prop_assert_eq!(order(&queue), plain.order());
            prop_assert_eq!(queue.len(), plain.order().len());
            prop_assert_eq!(queue.next_deadline(), plain.next_deadline().map(at));
        }
    }
}
