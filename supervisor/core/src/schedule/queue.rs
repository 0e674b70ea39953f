//! Those who wait: levels of priority, each first come first served, with a bound and with time-outs.
//!
//! A level is two lanes, the live one and the one of requests whose time is over but who may wait on
//! ([`TimeoutAction::Delay`]). The order of the queue is lane by lane. Every operation costs O(log n) at most: a request
//! that is taken out of the middle leaves a gap, and gaps are swept out when they outnumber the requests.
//!
//! Deliberately not here: what a batch is, and who is told about an end. The queue has no clock and no actions.

use std::collections::{BTreeSet, VecDeque};

use super::QueuedRequest;
use super::policy::{LevelPolicy, QueuePolicy, TimeoutAction};
use crate::ids::Ticket;
use crate::time::Instant;

/// Fewer gaps than this in a lane are not worth a sweep.
const GAPS_MIN: usize = 32;

/// A request that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    seq: u64,
    pub(super) ticket: Ticket,
    /// At least 1.
    pub(super) rows: u64,
    pub(super) shape_key: u64,
    pub(super) enqueued: Instant,
    deadline: Option<Instant>,
    /// Cleared when it was taken out of the middle.
    waits: bool,
}

/// Where a request waits; valid until it leaves or moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    lane: usize,
    seq: u64,
}

/// What became of a request whose time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    /// It left the queue.
    Rejected(Ticket),
    /// It waits on, elsewhere.
    Moved(Ticket, Place),
}

/// The level has as many requests as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

#[derive(Debug, Default)]
struct Lane {
    /// Ascending by `seq`. The first one always waits.
    entries: VecDeque<Waiting>,
    gaps: usize,
}

/// The queue of one scheduler.
#[derive(Debug)]
pub(super) struct Queue {
    policy: QueuePolicy,
    /// Two for each level: live, delayed.
    lanes: Vec<Lane>,
    /// When the requests of the live lanes have waited too long.
    deadlines: BTreeSet<(Instant, u64, usize)>,
    next_seq: u64,
    len: usize,
}

impl Queue {
    pub(super) fn new(policy: QueuePolicy) -> Self {
        let lanes = (0..policy.policies().len() * 2).map(|_| Lane::default()).collect();
        Self { policy, lanes, deadlines: BTreeSet::new(), next_seq: 0, len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts a request at the end of its level.
    pub(super) fn push(&mut self, now: Instant, request: &QueuedRequest) -> Result<Place, Full> {
        let level = self.policy.level_of(request.priority);
        let policy = self.level(level);
        let lane = level * 2;
        if self.lanes[lane].len() + self.lanes[lane + 1].len() >= policy.capacity() {
            return Err(Full);
        }
        let deadline = policy.timeout(request.timeout).map(|timeout| now + timeout);
        Ok(self.append(
            lane,
            Waiting {
                seq: 0,
                ticket: request.ticket,
                rows: u64::from(request.batch_size.max(1)),
                shape_key: request.shape_key,
                enqueued: now,
                deadline,
                waits: true,
            },
        ))
    }

    /// Takes a request out of the middle. False when it is not there.
    pub(super) fn remove(&mut self, place: Place) -> bool {
        let Some(entry) = self.lanes.get_mut(place.lane).and_then(|lane| lane.remove(place.seq)) else {
            return false;
        };
        self.forget(&entry, place.lane);
        true
    }

    /// Those who wait, in the order in which they are to be served.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.lanes.iter().flat_map(|lane| &lane.entries).filter(|entry| entry.waits)
    }

    /// Takes out the first one.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let lane = self.lanes.iter().position(|lane| !lane.entries.is_empty())?;
        let entry = self.lanes[lane].pop()?;
        self.forget(&entry, lane);
        Some(entry)
    }

    /// When the next request has waited for too long.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(deadline, ..)| deadline)
    }

    /// Takes out, or moves back, the first request whose time is over. Called until it is `None`.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Expired> {
        let &(deadline, seq, lane) = self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        let Some(entry) = self.lanes[lane].remove(seq) else {
            debug_assert!(false, "a deadline without a request");
            self.deadlines.pop_first();
            return None;
        };
        self.forget(&entry, lane);
        match self.level(lane / 2).timeout_action {
            TimeoutAction::Reject => Some(Expired::Rejected(entry.ticket)),
            TimeoutAction::Delay => {
                let ticket = entry.ticket;
                let place = self.append(lane + 1, Waiting { deadline: None, waits: true, ..entry });
                Some(Expired::Moved(ticket, place))
            }
        }
    }

    fn level(&self, index: usize) -> LevelPolicy {
        self.policy.policies().get(index).copied().unwrap_or_default()
    }

    fn append(&mut self, lane: usize, entry: Waiting) -> Place {
        let seq = self.next_seq;
        self.next_seq += 1;
        if let Some(deadline) = entry.deadline {
            self.deadlines.insert((deadline, seq, lane));
        }
        self.lanes[lane].entries.push_back(Waiting { seq, ..entry });
        self.len += 1;
        Place { lane, seq }
    }

    /// Keeps the books after `entry` has left its lane.
    fn forget(&mut self, entry: &Waiting, lane: usize) {
        if let Some(deadline) = entry.deadline {
            self.deadlines.remove(&(deadline, entry.seq, lane));
        }
        self.len -= 1;
    }
}

impl Lane {
    fn len(&self) -> usize {
        self.entries.len() - self.gaps
    }

    fn pop(&mut self) -> Option<Waiting> {
        let entry = self.entries.pop_front();
        self.drop_leading_gaps();
        entry
    }

    fn remove(&mut self, seq: u64) -> Option<Waiting> {
        let index = self.entries.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        let entry = self.entries.get_mut(index).filter(|entry| entry.waits)?;
        entry.waits = false;
        let removed = entry.clone();
        self.gaps += 1;
        self.drop_leading_gaps();
        if self.gaps > GAPS_MIN && self.gaps > self.len() {
            self.entries.retain(|entry| entry.waits);
            self.gaps = 0;
        }
        Some(removed)
    }

    fn drop_leading_gaps(&mut self) {
        while self.entries.front().is_some_and(|entry| !entry.waits) {
            self.entries.pop_front();
            self.gaps -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
