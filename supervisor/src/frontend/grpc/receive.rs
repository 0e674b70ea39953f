//! A call's messages on their way in: asks for room before a message arrives, and unpacks packed ones with a bound.
//!
//! Every message begins with a flag (packed or not) and its length. The length is known before the message is, so one
//! that does not fit is refused without reading it. A packed message is unpacked here rather than by the gRPC library,
//! because what it may grow to has to be paid for as well.

use std::collections::VecDeque;
use std::io::Read;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{BufMut, Bytes, BytesMut};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, HeaderValue};
use hyper::body::{Body, Frame, SizeHint};
use tonic::Status;

use crate::frontend::{Upstream, status};
use crate::serve::admission::InflightBytes;

/// Bytes that a message may have, packed or not.
pub(crate) const MESSAGE_SIZE_MAX: usize = 0x7fff_ffff;
/// Messages up to here are read without asking whether there is room: the number of calls bounds them.
const UNRESERVED: usize = 64 * 1024;
/// Step in which an unpacked message grows.
const UNPACK_STEP: usize = 64 * 1024;
/// Flag and length.
pub(crate) const HEAD_SIZE: usize = 5;

/// How packed messages of a call are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Deflate,
}

impl Packing {
    /// Takes the header out that names the packing, if it is one that is unpacked here.
    pub(crate) fn take(headers: &mut HeaderMap) -> Option<Self> {
        let packing = match headers.get("grpc-encoding").map(HeaderValue::as_bytes) {
            Some(b"gzip") => Self::Gzip,
            Some(b"deflate") => Self::Deflate,
            _ => return None,
        };
        headers.remove("grpc-encoding");
        Some(packing)
    }
}

#[derive(Debug)]
enum State {
    Head { bytes: [u8; HEAD_SIZE], filled: usize },
    Plain { left: usize },
    Packed { left: usize, packed: BytesMut },
}

impl State {
    const fn start() -> Self {
        Self::Head { bytes: [0; HEAD_SIZE], filled: 0 }
    }
}

/// The body of a call.
pub(crate) struct Receiving<U, B> {
    upstream: Arc<U>,
    body: B,
    packing: Option<Packing>,
    state: State,
    /// Room for the message that is arriving.
    room: Vec<InflightBytes>,
    ready: VecDeque<Bytes>,
}

impl<U: Upstream, B> Receiving<U, B> {
    pub(crate) const fn new(upstream: Arc<U>, body: B, packing: Option<Packing>) -> Self {
        Self { upstream, body, packing, state: State::start(), room: Vec::new(), ready: VecDeque::new() }
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Status> {
        self.room.push(self.upstream.reserve(bytes as u64).map_err(status::grpc)?);
        Ok(())
    }

    /// Looks at the head of a message and makes room for it.
    fn begin(&mut self, head: [u8; HEAD_SIZE]) -> Result<State, Status> {
        let [flag, length @ ..] = head;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > MESSAGE_SIZE_MAX {
            return Err(too_large(length));
        }
        if length > UNRESERVED {
            self.reserve(length)?;
        }
        if flag == 1 && self.packing.is_some() {
            return Ok(State::Packed { left: length, packed: BytesMut::new() });
        }
        self.ready.push_back(Bytes::copy_from_slice(&head));
        Ok(State::Plain { left: length })
    }

    /// Takes a piece of the body in.
    fn feed(&mut self, mut data: Bytes) -> Result<(), Status> {
        loop {
            match &mut self.state {
                State::Head { bytes, filled } => {
                    let part = data.split_to(data.len().min(HEAD_SIZE - *filled));
                    bytes[*filled..*filled + part.len()].copy_from_slice(&part);
                    *filled += part.len();
                    if *filled < HEAD_SIZE {
                        return Ok(());
                    }
                    let head = *bytes;
                    self.state = self.begin(head)?;
                }
                State::Plain { left } => {
                    let part = data.split_to(data.len().min(*left));
                    *left -= part.len();
                    let more = *left > 0;
                    if !part.is_empty() {
                        self.ready.push_back(part);
                    }
                    if more {
                        return Ok(());
                    }
                    self.state = State::start();
                }
                State::Packed { left, packed } => {
                    let part = data.split_to(data.len().min(*left));
                    *left -= part.len();
                    packed.extend_from_slice(&part);
                    if *left > 0 {
                        return Ok(());
                    }
                    let packed = packed.split().freeze();
                    self.state = State::start();
                    self.unpack(&packed)?;
                }
            }
            if data.is_empty() {
                return Ok(());
            }
        }
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Status> {
        let decoder: Box<dyn Read + '_> = match self.packing {
            Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(packed)),
            _ => Box::new(ZlibDecoder::new(packed)),
        };
        let broken = |error| Status::internal(format!("Error decompressing: {error}"));
        let mut decoder = decoder.take(MESSAGE_SIZE_MAX as u64 + 1);
        let mut out = Vec::new();
        loop {
            let step = UNPACK_STEP.max(out.len());
            if out.len() + step > UNRESERVED {
                self.reserve(step)?;
            }
            let taken = decoder.by_ref().take(step as u64).read_to_end(&mut out).map_err(broken)?;
            if out.len() > MESSAGE_SIZE_MAX {
                return Err(too_large(out.len()));
            }
            if taken < step {
                break;
            }
        }
        let mut head = BytesMut::with_capacity(HEAD_SIZE);
        head.put_u8(0);
        head.put_u32(u32::try_from(out.len()).map_err(|_| too_large(out.len()))?);
        self.ready.push_back(head.freeze());
        if !out.is_empty() {
            self.ready.push_back(out.into());
        }
        Ok(())
    }

    /// Whether `data` is exactly one plain, small message, as it is for nearly all calls.
    fn is_one_small_message(&self, data: &[u8]) -> bool {
        let Some((&[0, length @ ..], rest)) = data.split_first_chunk::<HEAD_SIZE>() else { return false };
        matches!(self.state, State::Head { filled: 0, .. })
            && rest.len() <= UNRESERVED
            && usize::try_from(u32::from_be_bytes(length)) == Ok(rest.len())
    }
}

fn too_large(length: usize) -> Status {
    Status::resource_exhausted(format!(
        "a message of {length} bytes exceeds the limit of {MESSAGE_SIZE_MAX} bytes; send less at once or use shared \
         memory"
    ))
}

impl<U, B> Body for Receiving<U, B>
where
    U: Upstream,
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<tonic::codegen::StdError>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        loop {
            if let Some(piece) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if matches!(this.state, State::Head { filled: 0, .. }) {
                // Whoever asks on has taken the message over.
                this.room.clear();
            }
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(Status::from_error(error.into())))),
                Some(Ok(frame)) => frame,
            };
            match frame.into_data() {
                Ok(data) if this.is_one_small_message(&data) => {
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Ok(data) => {
                    if let Err(status) = this.feed(data) {
                        return Poll::Ready(Some(Err(status)));
                    }
                }
                Err(frame) => return Poll::Ready(Some(Ok(frame))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::new()
    }
}

#[cfg(test)]
mod tests;
