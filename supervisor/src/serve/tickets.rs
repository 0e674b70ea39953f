//! Ticket → the request behind it and where its answer goes. Each ticket is taken out exactly once, and whoever takes
//! it out ends it.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use nereid_core::error::ServeError;
use nereid_core::ids::Ticket;
use nereid_core::schedule::{QueuedRequest, TicketHasher};
use tokio::sync::oneshot;

use super::admission::InflightBytes;
use super::outputs::Copying;
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
    /// What the scheduler knows of it.
    pub queued: QueuedRequest,
    pub arrived: Instant,
    pub started: Option<Instant>,
    pub first_response: Option<Answer>,
    /// Outputs of the first response that are still to be copied out of the worker's memory.
    pub copies: Vec<Copying>,
    /// Responses so far, to refuse a second one.
    pub responses: u32,
    /// Gives the bytes back when the request ends.
    pub bytes: InflightBytes,
}

/// A map keyed by tickets or batches.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<TicketHasher>>;
