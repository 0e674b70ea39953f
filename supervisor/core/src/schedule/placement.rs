//! Which instance gets the next batch.
//!
//! The one with the fewest batches in flight; among equals the one that finished work last. Its caches, its memory and
//! its processor's frequency are warm, and instances that the load does not need stay undisturbed and idle. Taking turns
//! would cost every instance its warmth at low load and buys nothing: an instance is not worn out by working, and a
//! busy or stuck one is already avoided by its count. The price: at low load one instance does all the work, so when
//! that one answers badly (rather than dying) nearly all requests see it; finding that out is a matter of health, not
//! of placement.
//!
//! A batch that could still grow goes to an idle instance only. Behind another batch it would merely wait in the
//! worker instead of here, where company may still arrive.
//!
//! Deliberately a plain list. A model version has a handful of instances, and all that is asked of the list walks it
//! anyway.

use std::cmp::Reverse;

use crate::ids::{BatchId, InstanceId, Ticket};

/// An instance that has room, and whether it has nothing else to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    index: usize,
    pub(super) instance: InstanceId,
    pub(super) idle: bool,
}

#[derive(Debug)]
struct Running {
    batch: BatchId,
    tickets: Vec<Ticket>,
}

#[derive(Debug)]
struct Instance {
    id: InstanceId,
    slots: usize,
    /// Takes no more work.
    draining: bool,
    running: Vec<Running>,
    /// When it last began or ended a batch, in batches; 0: never.
    last_used: u64,
}

/// The instances that are up and what they work on.
#[derive(Debug, Default)]
pub(super) struct Placement {
    instances: Vec<Instance>,
    in_flight: usize,
    uses: u64,
    /// Empty ticket lists for the next batches.
    spare: Vec<Vec<Ticket>>,
}

impl Placement {
    /// Batches that run now, over all instances.
    pub(super) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn up(&mut self, instance: InstanceId, slots: u32) {
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        if let Some(known) = self.find(instance) {
            known.slots = slots;
            known.draining = false;
        } else {
            self.instances.push(Instance {
                id: instance,
                slots,
                draining: false,
                running: Vec::new(),
                last_used: 0,
            });
        }
    }

    pub(super) fn drain(&mut self, instance: InstanceId) {
        if let Some(known) = self.find(instance) {
            known.draining = true;
        }
    }

    /// Forgets the instance and returns the tickets that it worked on, oldest batch first.
    pub(super) fn down(&mut self, instance: InstanceId) -> Vec<Ticket> {
        let Some(index) = self.instances.iter().position(|known| known.id == instance) else {
            return Vec::new();
        };
        let mut running = self.instances.swap_remove(index).running;
        self.in_flight -= running.len();
        running.sort_unstable_by_key(|running| running.batch);
        running.into_iter().flat_map(|running| running.tickets).collect()
    }

    /// Where the next batch would go.
    pub(super) fn choose(&self) -> Option<Room> {
        self.instances
            .iter()
            .enumerate()
            .filter(|(_, instance)| !instance.draining && instance.running.len() < instance.slots)
            .min_by_key(|(_, instance)| (instance.running.len(), Reverse(instance.last_used), instance.id))
            .map(|(index, instance)| Room { index, instance: instance.id, idle: instance.running.is_empty() })
    }

    /// Notes that the instance works on these.
    pub(super) fn begin(&mut self, room: Room, batch: BatchId, tickets: &[Ticket]) {
        self.uses += 1;
        let mut list = self.spare.pop().unwrap_or_default();
        list.extend_from_slice(tickets);
        if let Some(instance) = self.instances.get_mut(room.index) {
            instance.running.push(Running { batch, tickets: list });
            instance.last_used = self.uses;
            self.in_flight += 1;
        }
    }

    /// Forgets a batch that is done, after `each` has seen its tickets. False when that instance does not run it.
    pub(super) fn end(&mut self, instance: InstanceId, batch: BatchId, mut each: impl FnMut(Ticket)) -> bool {
        self.uses += 1;
        let uses = self.uses;
        let Some(known) = self.find(instance) else {
            return false;
        };
        let Some(index) = known.running.iter().position(|running| running.batch == batch) else {
            return false;
        };
        let mut tickets = known.running.swap_remove(index).tickets;
        known.last_used = uses;
        self.in_flight -= 1;
        for ticket in tickets.drain(..) {
            each(ticket);
        }
        self.spare.push(tickets);
        true
    }

    fn find(&mut self, instance: InstanceId) -> Option<&mut Instance> {
        self.instances.iter_mut().find(|known| known.id == instance)
    }
}

#[cfg(test)]
mod tests;
