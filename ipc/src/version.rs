//! Versions of the protocol between supervisor and worker, and the rule by which the two choose one.
//!
//! The supervisor's `Hello` names the range it speaks; the worker answers with the highest version that both know, or
//! with 0 when there is none. Adding a field needs no new version; a change of meaning does.

/// The oldest version that this build speaks.
pub const PROTOCOL_MIN: u32 = 1;
/// The newest version that this build speaks.
pub const PROTOCOL_MAX: u32 = 1;

/// The highest version that both this build and a peer speaking `min..=max` know.
#[must_use]
pub fn negotiate(min: u32, max: u32) -> Option<u32> {
    let highest = max.min(PROTOCOL_MAX);
    (highest >= min.max(PROTOCOL_MIN)).then_some(highest)
}

#[cfg(test)]
mod tests;
