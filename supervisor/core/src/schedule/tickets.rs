//! Where each ticket is: the one place that decides whether it has ended.
//!
//! A ticket is in this table from `Enqueue` until its one end. Deliberately not here: who is told of the end.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::queue::Place;
use crate::ids::{InstanceId, Ticket};

/// Where a ticket is that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    Queued(Place),
    Running { instance: InstanceId, cancelled: bool },
}

/// All tickets that have not ended.
pub(super) type Tickets = HashMap<Ticket, Whereabouts, BuildHasherDefault<TicketHasher>>;

/// Spreads numbers that count up, such as tickets and batches. The supervisor makes them itself, so nobody can choose
/// them to collide.
#[derive(Clone, Copy, Debug, Default)]
pub struct TicketHasher(u64);

/// 2^64 divided by the golden ratio, odd: neighbours land far apart.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for TicketHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The table takes its index from the low bits, which a product mixes least.
        self.0 = (self.0 ^ number).wrapping_mul(SPREAD).rotate_left(32);
    }
}
