//! The machine that connects queue, batching and placement.
//!
//! Batches are formed when actions are asked for, not at each event: all that arrived before that goes together, so that
//! a burst makes one batch instead of one request and the rest behind it. Nobody waits for it: the caller asks as soon
//! as it has no more events at hand.
//!
//! Deliberately without rules of its own about sizes, order or choice of an instance: it keeps the table of tickets,
//! and turns what the parts say into actions.

use std::collections::VecDeque;
use std::sync::Arc;

use super::batch::{self, Verdict};
use super::placement::{Placement, Room};
use super::policy::{SchedulerConfig, Strategy};
use super::queue::{Expired, Full, Place, Queue};
use super::tickets::{Tickets, Whereabouts};
use super::{Action, Event, QueuedRequest, RejectReason, direct};
use crate::ids::{BatchId, InstanceId, Ticket};
use crate::machine::Machine;
use crate::time::Instant;

/// The scheduler of one model version.
#[derive(Debug)]
pub struct Scheduler {
    strategy: Strategy,
    queue: Queue,
    placement: Placement,
    tickets: Tickets,
    last_batch: BatchId,
    /// When a batch that is held back goes out, if an instance is idle.
    batch_deadline: Option<Instant>,
    intake: Intake,
    drained: bool,
    /// The time of the last event, when batches have not been formed since.
    unsettled: Option<Instant>,
    actions: VecDeque<Action>,
}

/// What happens to new requests.
#[derive(Debug)]
enum Intake {
    Open,
    Unavailable(Arc<str>),
    Stopped,
}

impl Scheduler {
    /// A scheduler without instances.
    #[must_use]
    pub fn new(config: SchedulerConfig) -> Self {
        Self {
            strategy: config.strategy,
            queue: Queue::new(config.queue),
            placement: Placement::default(),
            tickets: Tickets::default(),
            last_batch: BatchId(0),
            batch_deadline: None,
            intake: Intake::Open,
            drained: false,
            unsettled: None,
            actions: VecDeque::new(),
        }
    }

    /// Requests that wait for an instance.
    #[must_use]
    pub const fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Batches that run.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.placement.in_flight()
    }

    /// Requests that have not ended: those that wait and those that run.
    #[must_use]
    pub fn open(&self) -> usize {
        self.tickets.len()
    }

    fn enqueue(&mut self, now: Instant, request: &QueuedRequest) {
        let ticket = request.ticket;
        if self.tickets.contains_key(&ticket) {
            debug_assert!(false, "ticket {ticket} was enqueued twice");
            return;
        }
        let reason = match &self.intake {
            Intake::Open => match self.push(now, request) {
                Ok(place) => {
                    self.tickets.insert(ticket, Whereabouts::Queued(place));
                    return;
                }
                Err(_full) => RejectReason::QueueFull,
            },
            Intake::Unavailable(reason) => RejectReason::Unavailable(Arc::clone(reason)),
            Intake::Stopped => RejectReason::Stopping,
        };
        self.actions.push_back(Action::Reject { ticket, reason });
    }

    /// A queue is full only if it is still full after all that can run does.
    fn push(&mut self, now: Instant, request: &QueuedRequest) -> Result<Place, Full> {
        self.queue.push(now, request).or_else(|_full| {
            self.dispatch(now);
            self.queue.push(now, request)
        })
    }

    fn cancel(&mut self, ticket: Ticket) {
        match self.tickets.get_mut(&ticket) {
            Some(Whereabouts::Queued(place)) => {
                let place = *place;
                self.queue.remove(place);
                self.reject(ticket, RejectReason::Cancelled);
            }
            Some(Whereabouts::Running { instance, cancelled }) if !*cancelled => {
                *cancelled = true;
                let instance = *instance;
                self.actions.push_back(Action::CancelRunning { ticket, instance });
            }
            Some(Whereabouts::Running { .. }) | None => {}
        }
    }

    fn instance_down(&mut self, instance: InstanceId) {
        for ticket in self.placement.down(instance) {
            self.tickets.remove(&ticket);
            self.actions.push_back(Action::Lost { ticket, instance });
        }
    }

    fn unavailable(&mut self, reason: &Arc<str>) {
        while let Some(waiting) = self.queue.pop() {
            self.reject(waiting.ticket, RejectReason::Unavailable(Arc::clone(reason)));
        }
        if !matches!(self.intake, Intake::Stopped) {
            self.intake = Intake::Unavailable(Arc::clone(reason));
        }
    }

    fn available(&mut self) {
        if matches!(self.intake, Intake::Unavailable(_)) {
            self.intake = Intake::Open;
        }
    }

    fn reject(&mut self, ticket: Ticket, reason: RejectReason) {
        self.tickets.remove(&ticket);
        self.actions.push_back(Action::Reject { ticket, reason });
    }

    /// Ends the requests whose time is over, before anything else can happen to them.
    fn expire_requests(&mut self, now: Instant) {
        while let Some(expired) = self.queue.expire(now) {
            match expired {
                Expired::Rejected(ticket) => self.reject(ticket, RejectReason::TimedOut),
                Expired::Moved(ticket, place) => {
                    self.tickets.insert(ticket, Whereabouts::Queued(place));
                }
            }
        }
    }

    /// Sends as many batches as there is room for.
    fn dispatch(&mut self, now: Instant) {
        self.batch_deadline = None;
        while !self.queue.is_empty()
            && let Some(room) = self.placement.choose()
        {
            match self.form(now) {
                Verdict::Send { requests, full } if full || room.idle => self.run(room, requests),
                Verdict::Wait(until) if room.idle => {
                    self.batch_deadline = Some(until);
                    return;
                }
                // It can still grow, and when the instance becomes idle this is asked again.
                Verdict::Send { .. } | Verdict::Wait(_) | Verdict::Nothing => return,
            }
        }
    }

    fn form(&self, now: Instant) -> Verdict {
        match &self.strategy {
            Strategy::Direct => direct::form(self.queue.iter()),
            Strategy::Dynamic(policy) => {
                let flush = matches!(self.intake, Intake::Stopped);
                batch::form(policy, now, flush, self.queue.iter())
            }
        }
    }

    fn run(&mut self, room: Room, requests: usize) {
        let instance = room.instance;
        let mut tickets = Vec::with_capacity(requests);
        while tickets.len() < requests
            && let Some(waiting) = self.queue.pop()
        {
            self.tickets.insert(waiting.ticket, Whereabouts::Running { instance, cancelled: false });
            tickets.push(waiting.ticket);
        }
        self.last_batch = BatchId(self.last_batch.0 + 1);
        self.placement.begin(room, self.last_batch, &tickets);
        self.actions.push_back(Action::Run { instance, batch: self.last_batch, tickets });
    }

    fn settle(&mut self, now: Instant) {
        self.dispatch(now);
        if matches!(self.intake, Intake::Stopped) && !self.drained && self.tickets.is_empty() {
            self.drained = true;
            self.actions.push_back(Action::Drained);
        }
    }
}

impl Machine for Scheduler {
    type Event = Event;
    type Action = Action;

    fn handle(&mut self, now: Instant, event: Event) {
        self.expire_requests(now);
        match event {
            Event::Enqueue(request) => self.enqueue(now, &request),
            Event::Cancel(ticket) => self.cancel(ticket),
            Event::InstanceUp { instance, slots } => {
                self.available();
                self.placement.up(instance, slots);
            }
            Event::InstanceDraining { instance } => self.placement.drain(instance),
            Event::InstanceDown { instance } => self.instance_down(instance),
            Event::Finished { instance, batch } => {
                let tickets = &mut self.tickets;
                self.placement.end(instance, batch, |ticket| {
                    tickets.remove(&ticket);
                });
            }
            Event::Unavailable { reason } => self.unavailable(&reason),
            Event::Available => self.available(),
            Event::Stop => self.intake = Intake::Stopped,
        }
        self.unsettled = Some(now);
    }

    fn poll(&mut self) -> Option<Action> {
        if self.actions.is_empty()
            && let Some(now) = self.unsettled.take()
        {
            self.settle(now);
        }
        self.actions.pop_front()
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.unsettled, self.queue.next_deadline(), self.batch_deadline].into_iter().flatten().min()
    }

    fn expire(&mut self, now: Instant) {
        self.expire_requests(now);
        self.unsettled = Some(now);
    }
}

#[cfg(test)]
mod tests;
