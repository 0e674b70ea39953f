//! The four envelopes and the one thing that they have in common: the generation they belong to.
//!
//! A frame of another incarnation is never acted on. A worker that meets one exits; the supervisor kills the sender.

use crate::error::Malformed;
use nereid_proto::worker;

/// A message that is sent as a packet of its own.
pub trait Envelope: prost::Message + Default {
    /// The incarnation that it names.
    fn generation(&self) -> u64;

    /// Refuses a frame of an incarnation other than `expected`.
    fn check_generation(&self, expected: u64) -> Result<(), Malformed> {
        let got = self.generation();
        if got == expected { Ok(()) } else { Err(Malformed::Generation { expected, got }) }
    }
}

macro_rules! envelopes {
    ($($message:ident),*) => {$(
        impl Envelope for worker::$message {
            fn generation(&self) -> u64 {
                self.generation
            }
        }
    )*};
}

envelopes!(ControlToWorker, ControlToSupervisor, ExecutionToWorker, ExecutionToSupervisor);
