//! Bodies: reads a request's with bounds, and writes a reply's without copying tensors.
//!
//! A request body stays in the pieces in which it arrived. What is too large is thrown away as it comes, so that a client which still sends can read why it was refused.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};
use nereid_core::error::ServeError;

use crate::frontend::Upstream;
use crate::frontend::room::Room;
use crate::frontend::rope::Rope;
use crate::serve::admission::InflightBytes;

/// No body may have more bytes than a signed 32-bit number counts.
pub(crate) const BODY_SIZE_MAX: u64 = 0x7fff_ffff;
/// Pieces of a chunked body that may be smaller than [`SMALL_CHUNK`].
pub(crate) const SMALL_CHUNKS_MAX: u32 = 65_536;
/// Small pieces that are thrown away before a client that sends too many is cut off. Cut off at once it might never see
/// why: what it has not read yet is lost with the connection.
const DISCARDED_CHUNKS_MAX: u32 = 16 * SMALL_CHUNKS_MAX;
/// Below what a piece counts as a chunk that a client made small. Larger pieces come from the network.
const SMALL_CHUNK: usize = 512;
/// Bodies of unknown length are read up to here without asking whether there is room: the number of connections bounds
/// them.
const UNRESERVED: u64 = 64 * 1024;
/// A client may pause this long within a body.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// A body as it came.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) rope: Rope,
    /// The room that it takes. None if it was not read from a connection.
    pub(crate) room: Option<InflightBytes>,
}

impl From<Bytes> for Received {
    fn from(bytes: Bytes) -> Self {
        Self { rope: Rope::from(bytes), room: None }
    }
}

/// A body that was read to its end.
#[derive(Debug)]
pub(crate) enum Read {
    Kept(Received),
    /// It was longer than what is kept; only its length is known.
    Dropped(u64),
}

/// Why a body was not read to its end. The connection cannot be used again.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The client left or broke the protocol; nobody waits for an answer.
    Broken,
    /// The client paused too long.
    Slow,
    Refused(ServeError),
}

/// Reads a body and keeps it if it has at most `keep_max` bytes.
///
/// `length` is what `Content-Length` says, if there is one. Room for the bytes is taken from `upstream` while they
/// arrive.
pub(crate) async fn read<U, B>(
    upstream: &U,
    mut body: B,
    length: Option<u64>,
    keep_max: u64,
) -> Result<Read, ReadError>
where
    U: Upstream,
    B: Body<Data = Bytes> + Unpin,
{
    if let Some(length) = length.filter(|&length| length > BODY_SIZE_MAX) {
        return Err(ReadError::Refused(out_of_range(length)));
    }
    let mut room = Room::default();
    let mut keep = length.is_none_or(|length| length <= keep_max);
    let mut refusal = None;
    if keep
        && let Some(length) = length.filter(|&length| length > UNRESERVED)
        && let Err(error) = Room::check(upstream, length)
    {
        (keep, refusal) = (false, Some(error));
    }
    let mut rope = Rope::default();
    let mut total = 0_u64;
    let mut small_chunks = 0_u32;
    while let Some(piece) = next(&mut body).await? {
        total += piece.len() as u64;
        if length.is_none() {
            small_chunks += u32::from(piece.len() < SMALL_CHUNK);
            if small_chunks == SMALL_CHUNKS_MAX + 1 {
                (keep, refusal) = (false, Some(too_many_chunks()));
                rope = Rope::default();
            }
            if total > BODY_SIZE_MAX {
                return Err(ReadError::Refused(out_of_range(total)));
            }
            if small_chunks > DISCARDED_CHUNKS_MAX {
                break;
            }
        }
        if keep && total > keep_max {
            keep = false;
        }
        if keep
            && (length.is_some() || total > UNRESERVED)
            && let Err(error) = room.grow_to(upstream, total, length)
        {
            (keep, refusal) = (false, Some(error));
        }
        if keep {
            rope.push(piece);
        } else {
            rope = Rope::default();
            room.clear();
        }
    }
    match refusal {
        // The body was read to its end, so the connection would be usable; a server without room wants it closed.
        Some(error) => Err(ReadError::Refused(error)),
        None if keep => {
            rope.seal();
            let room = room.into_share(upstream, total).map_err(ReadError::Refused)?;
            Ok(Read::Kept(Received { rope, room: Some(room) }))
        }
        None => Ok(Read::Dropped(total)),
    }
}

/// The next piece of data; none at the end.
async fn next<B: Body<Data = Bytes> + Unpin>(body: &mut B) -> Result<Option<Bytes>, ReadError> {
    loop {
        if body.is_end_stream() {
            return Ok(None);
        }
        let frame = match tokio::time::timeout(PAUSE_MAX, body.frame()).await {
            Err(_) => return Err(ReadError::Slow),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(ReadError::Broken),
            Ok(Some(Ok(frame))) => frame,
        };
        match frame.into_data() {
            Ok(data) if !data.is_empty() => return Ok(Some(data)),
            // Empty pieces and trailers say nothing.
            _ => {}
        }
    }
}

fn out_of_range(length: u64) -> ServeError {
    ServeError::invalid(format!(
        "Unable to parse Content-Length, value is out of range [ -2147483648, 2147483647 ], got: {length}"
    ))
}

fn too_many_chunks() -> ServeError {
    ServeError::invalid(format!(
        "Chunked request body exceeds maximum of {SMALL_CHUNKS_MAX} non-empty chunks. Send fewer or larger HTTP \
         chunks."
    ))
}

/// The body of a reply: pieces in their order, with their length known beforehand.
#[derive(Debug, Default)]
pub(crate) struct ReplyBody {
    first: Bytes,
    rest: VecDeque<Bytes>,
}

impl ReplyBody {
    /// `pieces` follow `first`.
    pub(crate) const fn new(first: Bytes, pieces: VecDeque<Bytes>) -> Self {
        Self { first, rest: pieces }
    }

    pub(crate) fn len(&self) -> u64 {
        self.first.len() as u64 + self.rest.iter().map(|piece| piece.len() as u64).sum::<u64>()
    }
}

impl From<Bytes> for ReplyBody {
    fn from(first: Bytes) -> Self {
        Self { first, rest: VecDeque::new() }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = if self.first.is_empty() {
            loop {
                match self.rest.pop_front() {
                    Some(piece) if piece.is_empty() => {}
                    other => break other,
                }
            }
        } else {
            Some(std::mem::take(&mut self.first))
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len())
    }
}

#[cfg(test)]
mod tests;
