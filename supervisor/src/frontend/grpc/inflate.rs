//! Unpacks one message, with room for what it grows to, off the runtime's threads if it is large.

use std::io::Read;
use std::sync::Arc;

use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use tokio::sync::oneshot;
use tonic::Status;

use super::receive::{MESSAGE_SIZE_MAX, Packing, UNRESERVED, too_large};
use crate::frontend::room::Room;
use crate::frontend::{Upstream, status};

/// First step in which an unpacked message grows.
const STEP_MIN: usize = 64 * 1024;
/// Later steps grow with the message up to here.
const STEP_MAX: usize = 16 * 1024 * 1024;

/// A message and the room that it takes.
pub(super) type Inflated = Result<(Bytes, Room), Status>;

/// What became of a packed message.
pub(super) enum Inflating {
    Done(Inflated),
    /// A thread for long work has it, and gives it up when nobody waits for it any more.
    Running(oneshot::Receiver<Inflated>),
}

/// Unpacks `packed`: here if that takes no time to speak of.
pub(super) fn inflate<U: Upstream>(upstream: &Arc<U>, packing: Packing, packed: Bytes) -> Inflating {
    let is_short = packed.len() <= STEP_MIN;
    let mut inflater = Inflater::new(packing, packed);
    if is_short {
        match inflater.step(&**upstream) {
            Ok(false) => {}
            Ok(true) => return Inflating::Done(Ok(inflater.finish())),
            Err(status) => return Inflating::Done(Err(status)),
        }
    }
    let upstream = Arc::clone(upstream);
    let (sender, receiver) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        if let Some(inflated) = inflater.run(&*upstream, || sender.is_closed()) {
            // The client may leave at any moment.
            drop(sender.send(inflated));
        }
    });
    Inflating::Running(receiver)
}

struct Inflater {
    decoder: Decoder,
    out: Vec<u8>,
    room: Room,
}

enum Decoder {
    Gzip(MultiGzDecoder<Reader<Bytes>>),
    Deflate(ZlibDecoder<Reader<Bytes>>),
}

impl Inflater {
    fn new(packing: Packing, packed: Bytes) -> Self {
        let decoder = match packing {
            Packing::Gzip => Decoder::Gzip(MultiGzDecoder::new(packed.reader())),
            Packing::Deflate => Decoder::Deflate(ZlibDecoder::new(packed.reader())),
        };
        Self { decoder, out: Vec::new(), room: Room::default() }
    }

    /// Unpacks one step more; true at the end.
    fn step(&mut self, upstream: &impl Upstream) -> Result<bool, Status> {
        let step = self.out.len().clamp(STEP_MIN, STEP_MAX);
        let goal = self.out.len() + step;
        if goal > UNRESERVED {
            self.room.grow_to(upstream, goal as u64, Some(goal as u64)).map_err(status::grpc)?;
        }
        let out = &mut self.out;
        let taken = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.take(step as u64).read_to_end(out),
            Decoder::Deflate(decoder) => decoder.take(step as u64).read_to_end(out),
        };
        let taken = taken.map_err(|error| Status::internal(format!("Error decompressing: {error}")))?;
        if self.out.len() > MESSAGE_SIZE_MAX {
            return Err(too_large(self.out.len()));
        }
        Ok(taken < step)
    }

    /// All that is left. None if it was given up; what was taken is given back before anybody is told.
    fn run(mut self, upstream: &impl Upstream, is_given_up: impl Fn() -> bool) -> Option<Inflated> {
        while !is_given_up() {
            match self.step(upstream) {
                Ok(false) => {}
                Ok(true) => return Some(Ok(self.finish())),
                Err(status) => return Some(Err(status)),
            }
        }
        None
    }

    fn finish(self) -> (Bytes, Room) {
        (self.out.into(), self.room)
    }
}
