//! The shape that every machine of the core has.

use crate::time::Instant;

/// A state machine that is told the time and what happened, and says what to do.
///
/// The async side is the same few lines for each: wait for an event or [`Machine::next_deadline`], call
/// [`Machine::handle`] or [`Machine::expire`], then perform actions until [`Machine::poll`] is empty.
pub trait Machine {
    /// All that can happen to it.
    type Event;
    /// All that it can ask for.
    type Action;

    /// Takes in an event. Never blocks, never fails.
    fn handle(&mut self, now: Instant, event: Self::Event);
    /// The next thing to do; called until it is `None` after each `handle` and `expire`.
    fn poll(&mut self) -> Option<Self::Action>;
    /// When `expire` wants to be called, if nothing happens before.
    fn next_deadline(&self) -> Option<Instant>;
    /// The deadline has come, or passed.
    fn expire(&mut self, now: Instant);
}
