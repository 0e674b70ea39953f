//! Counts batches, so that a pong proves progress of the loop that does the work rather than life of the process.
//!
//! There is no clock and no thread here: a worker that is stuck in a batch answers no ping, and that is the sign.

use nereid_proto::worker::Pong;

/// Batches begun and ended since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    begun: u64,
    ended: u64,
}

impl Progress {
    pub(crate) fn begin(&mut self) {
        self.begun += 1;
    }

    pub(crate) fn end(&mut self) {
        self.ended += 1;
    }

    pub(crate) fn pong(self, nonce: u64) -> Pong {
        Pong { nonce, batches_begun: self.begun, batches_ended: self.ended }
    }
}
