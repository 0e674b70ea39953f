//! Dynamic batching: how many of the first requests go together, and whether now or later.
//!
//! A batch is always a prefix of the queue, so order holds and nobody is overtaken: a request that does not fit, by size
//! or by shape, ends the batch. Of the prefixes that fit, the longest one of a preferred size is sent; when there is
//! none, all that fits is sent once it cannot grow or its oldest request has been held back for long enough.
//!
//! Deliberately stateless. The verdict is a function of the queue, the policy and the time, so there is nothing to
//! invalidate when a request leaves from the middle. Whether an instance has room is not asked here.

use super::policy::BatchPolicy;
use super::queue::Waiting;
use crate::time::Instant;

/// What to do with the head of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nobody waits.
    Nothing,
    /// Hold back until then, in case more requests arrive.
    Wait(Instant),
    /// Send the first `requests`. `full`: later arrivals could not join them any more.
    Send { requests: usize, full: bool },
}

/// A scan over the queue.
#[derive(Default)]
struct Scan {
    requests: usize,
    rows: u64,
    /// Requests and rows of the longest prefix worth sending by itself.
    best: Option<(usize, u64)>,
    /// When the oldest one arrived.
    oldest: Option<Instant>,
    /// The next request cannot join.
    blocked: bool,
}

/// Looks at those who wait, in order. `flush`: no more requests will come, so nobody is held back for company.
pub(super) fn form<'a>(
    policy: &BatchPolicy,
    now: Instant,
    flush: bool,
    waiting: impl Iterator<Item = &'a Waiting>,
) -> Verdict {
    let scan = scan(policy, waiting);
    let Some(oldest) = scan.oldest else {
        return Verdict::Nothing;
    };
    let held = policy.max_delay();
    let overdue = !held.is_zero() && (flush || now.saturating_since(oldest) >= held);
    if let Some((requests, rows)) = scan.best
        && !overdue
    {
        // Without a delay there is nothing to wait for once a preferred size is reached.
        let full =
            scan.blocked || held.is_zero() || rows >= policy.max_preferred() || requests < scan.requests;
        return Verdict::Send { requests, full };
    }
    let full = scan.blocked || scan.rows >= policy.max_preferred();
    if full || overdue || held.is_zero() {
        return Verdict::Send { requests: scan.requests, full };
    }
    Verdict::Wait(oldest + held)
}

fn scan<'a>(policy: &BatchPolicy, waiting: impl Iterator<Item = &'a Waiting>) -> Scan {
    let mut scan = Scan::default();
    let mut shape = None;
    for candidate in waiting {
        let rows = scan.rows.saturating_add(candidate.rows);
        if let Some(shape) = shape {
            if rows > policy.max_preferred() && scan.best.is_none() {
                scan.best = Some((scan.requests, scan.rows));
            }
            if rows > policy.max_batch_size() || candidate.shape_key != shape {
                scan.blocked = true;
                break;
            }
        } else {
            shape = Some(candidate.shape_key);
        }
        scan.requests += 1;
        scan.rows = rows;
        scan.oldest = Some(scan.oldest.map_or(candidate.enqueued, |oldest| oldest.min(candidate.enqueued)));
        if policy.is_preferred(rows) {
            scan.best = Some((scan.requests, rows));
        }
        if rows >= policy.max_batch_size() {
            break;
        }
    }
    scan
}

#[cfg(test)]
mod tests;
