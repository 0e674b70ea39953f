//! Ticket → the request behind it and where its answer goes. Each ticket is taken out exactly once, and whoever takes
//! it out ends it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use nereid_core::error::ServeError;
use nereid_core::ids::Ticket;
use tokio::sync::oneshot;

use super::admission::InflightBytes;
use super::request::{InferRequest, InferResponse};

/// A ticket that no other request of this process has had.
pub fn next_ticket() -> Ticket {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Ticket(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How a request ended.
pub type Answer = Result<InferResponse, ServeError>;

/// An admitted request.
#[derive(Debug)]
pub struct Pending {
    /// Kept whole until the end: a retry starts from these bytes, whatever a model did to its copy.
    pub request: InferRequest,
    pub answer: oneshot::Sender<Answer>,
    /// Rows, 1 for a model without batching.
    pub batch_size: u32,
    pub arrived: Instant,
    pub started: Option<Instant>,
    /// Responses so far, to refuse a second one.
    pub first_response: Option<Answer>,
    pub responses: u32,
    /// Gives the bytes back when the request ends.
    pub bytes: InflightBytes,
}

/// Tickets are counted up: the number itself is spread well enough by one multiplication.
#[derive(Default, Debug)]
pub struct TicketHasher(u64);

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
        // 2^64 / golden ratio.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A map keyed by tickets or batches.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<TicketHasher>>;
