//! What has happened, for those who look on: operators who follow it, and the console.
//!
//! Whatever publishes never waits: the last ones are kept for readers who come later, and a reader who is too slow misses
//! some and sees it by the gap in the numbers. Nothing in the server acts on an event.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use nereid_proto::admin::Event;
use tokio::sync::broadcast;

use crate::clock;

/// Events that are kept for readers who come later.
pub const KEPT_MAX: usize = 1000;
/// Events that a reader may be behind.
const BEHIND_MAX: usize = 256;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What an event is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    pub model: &'a str,
    pub version: i64,
    pub instance: &'a str,
    pub generation: u64,
}

/// See the module's text.
#[derive(Debug)]
pub struct Events {
    inner: Mutex<Inner>,
    sender: broadcast::Sender<Event>,
}

#[derive(Debug, Default)]
struct Inner {
    last_seq: u64,
    kept: VecDeque<Event>,
}

impl Default for Events {
    fn default() -> Self {
        Self { inner: Mutex::default(), sender: broadcast::Sender::new(BEHIND_MAX) }
    }
}

impl Events {
    /// Tells everybody. `kind` is one of the words of `admin.proto`.
    pub fn publish(&self, severity: Severity, kind: &str, subject: Subject<'_>, message: impl Into<String>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last_seq += 1;
        let event = Event {
            seq: inner.last_seq,
            at_ms: clock::epoch_ms(),
            severity: severity.as_str().to_owned(),
            kind: kind.to_owned(),
            model: subject.model.to_owned(),
            version: subject.version,
            instance: subject.instance.to_owned(),
            generation: subject.generation,
            message: message.into(),
        };
        if inner.kept.len() == KEPT_MAX {
            inner.kept.pop_front();
        }
        inner.kept.push_back(event.clone());
        // Sent under the lock, so that the numbers rise for every reader. Nobody may be reading.
        let _ = self.sender.send(event);
    }

    /// The last `count` events, oldest first, and those that follow.
    #[must_use]
    pub fn follow(&self, count: usize) -> (Vec<Event>, broadcast::Receiver<Event>) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = inner.kept.len().saturating_sub(count);
        (inner.kept.iter().skip(skipped).cloned().collect(), self.sender.subscribe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_readers_get_the_last_ones_and_all_that_follow() {
        let events = Events::default();
        for number in 0..KEPT_MAX + 5 {
            events.publish(Severity::Info, "server", Subject::default(), number.to_string());
        }
        let (past, mut rest) = events.follow(2);
        assert_eq!(past.iter().map(|event| event.seq).collect::<Vec<_>>(), [1004, 1005]);
        assert_eq!(events.follow(usize::MAX).0.len(), KEPT_MAX);
        events.publish(Severity::Error, "server", Subject { model: "m", ..Subject::default() }, "x");
        let next = rest.try_recv().unwrap();
        assert_eq!((next.seq, next.model.as_str(), next.severity.as_str()), (1006, "m", "error"));
    }
}
