//! A call's messages on their way in: asks for room before a message arrives, and unpacks packed ones with a bound.
//!
//! Every message begins with a flag (packed or not) and its length. The length is known before the message is, so one
//! that does not fit is refused without reading it. A packed message is unpacked here rather than by the gRPC library,
//! because what it may grow to has to be paid for as well. A client that stops within a message is not waited for.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};
use tonic::Status;

use super::inflate::{Inflated, Inflating, inflate};
use crate::frontend::room::Room;
use crate::frontend::{Upstream, status};

/// Bytes that a message may have, packed or not.
pub(crate) const MESSAGE_SIZE_MAX: usize = 0x7fff_ffff;
/// Messages up to here are read without asking whether there is room: the number of calls bounds them.
pub(crate) const UNRESERVED: usize = 64 * 1024;
/// A client may pause this long within a message.
const PAUSE_MAX: Duration = Duration::from_secs(60);
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
    Plain { left: usize, length: usize },
    Packed { left: usize, length: usize, packed: BytesMut },
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
    room: Room,
    /// Room for those that have arrived and were not asked for yet.
    arrived: Vec<Room>,
    ready: VecDeque<Bytes>,
    /// The message that is being unpacked, and what follows it.
    inflating: Option<(oneshot::Receiver<Inflated>, Bytes)>,
    /// Ends a pause that is too long.
    pause: Option<Pin<Box<Sleep>>>,
}

impl<U: Upstream, B> Receiving<U, B> {
    pub(crate) fn new(upstream: Arc<U>, body: B, packing: Option<Packing>) -> Self {
        Self {
            upstream,
            body,
            packing,
            state: State::start(),
            room: Room::default(),
            arrived: Vec::new(),
            ready: VecDeque::new(),
            inflating: None,
            pause: None,
        }
    }

    /// Looks at the head of a message, and whether there is room for it.
    fn begin(&mut self, head: [u8; HEAD_SIZE]) -> Result<State, Status> {
        let [flag, length @ ..] = head;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > MESSAGE_SIZE_MAX {
            return Err(too_large(length));
        }
        if length > UNRESERVED {
            Room::check(&*self.upstream, length as u64).map_err(status::grpc)?;
        }
        if flag == 1 && self.packing.is_some() {
            return Ok(State::Packed { left: length, length, packed: BytesMut::new() });
        }
        self.ready.push_back(Bytes::copy_from_slice(&head));
        Ok(State::Plain { left: length, length })
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
                State::Plain { left, length } => {
                    let part = data.split_to(data.len().min(*left));
                    *left -= part.len();
                    let (left, length) = (*left, *length);
                    self.make_room(length - left, length)?;
                    if !part.is_empty() {
                        self.ready.push_back(part);
                    }
                    if left > 0 {
                        return Ok(());
                    }
                    self.end();
                }
                State::Packed { left, length, packed } => {
                    let part = data.split_to(data.len().min(*left));
                    *left -= part.len();
                    packed.extend_from_slice(&part);
                    let (left, length) = (*left, *length);
                    let packed = if left > 0 { None } else { Some(packed.split().freeze()) };
                    self.make_room(length - left, length)?;
                    let Some(packed) = packed else { return Ok(()) };
                    self.end();
                    match inflate(&self.upstream, self.packing.unwrap_or(Packing::Gzip), packed) {
                        Inflating::Done(inflated) => self.unpacked(inflated)?,
                        Inflating::Running(task) => {
                            self.inflating = Some((task, data));
                            return Ok(());
                        }
                    }
                }
            }
            if data.is_empty() {
                return Ok(());
            }
        }
    }

    /// Makes room for the first `bytes` of a message of `length`.
    fn make_room(&mut self, bytes: usize, length: usize) -> Result<(), Status> {
        if length <= UNRESERVED {
            return Ok(());
        }
        self.room.grow_to(&*self.upstream, bytes as u64, Some(length as u64)).map_err(status::grpc)
    }

    /// A message has arrived.
    fn end(&mut self) {
        self.state = State::start();
        if !self.room.is_empty() {
            self.arrived.push(std::mem::take(&mut self.room));
        }
    }

    fn unpacked(&mut self, inflated: Inflated) -> Result<(), Status> {
        let (message, room) = inflated?;
        self.arrived.push(room);
        let mut head = BytesMut::with_capacity(HEAD_SIZE);
        head.put_u8(0);
        head.put_u32(u32::try_from(message.len()).map_err(|_| too_large(message.len()))?);
        self.ready.push_back(head.freeze());
        if !message.is_empty() {
            self.ready.push_back(message);
        }
        Ok(())
    }

    /// Goes on when the message that is being unpacked is there.
    fn poll_inflating(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        let Some((task, _)) = &mut self.inflating else { return Poll::Ready(Ok(())) };
        let inflated = ready!(Pin::new(task).poll(cx)).unwrap_or_else(|_| {
            Err(Status::internal("cannot unpack a message: the thread that did it is gone"))
        });
        let rest = self.inflating.take().map_or_else(Bytes::new, |(_, rest)| rest);
        self.unpacked(inflated)?;
        if rest.is_empty() { Poll::Ready(Ok(())) } else { Poll::Ready(self.feed(rest)) }
    }

    /// An error if nothing has come for too long within a message. Between messages a client may rest.
    fn check_pause(&mut self, cx: &mut Context<'_>) -> Result<(), Status> {
        if self.is_between() {
            return Ok(());
        }
        let pause = self.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(PAUSE_MAX)));
        match pause.as_mut().poll(cx) {
            Poll::Pending => Ok(()),
            Poll::Ready(()) => Err(Status::deadline_exceeded(format!(
                "nothing of the message came for {} seconds",
                PAUSE_MAX.as_secs()
            ))),
        }
    }

    const fn is_between(&self) -> bool {
        matches!(self.state, State::Head { filled: 0, .. })
    }

    /// Whether `data` is exactly one plain, small message, as it is for nearly all calls.
    fn is_one_small_message(&self, data: &[u8]) -> bool {
        let Some((&[0, length @ ..], rest)) = data.split_first_chunk::<HEAD_SIZE>() else { return false };
        self.is_between()
            && rest.len() <= UNRESERVED
            && usize::try_from(u32::from_be_bytes(length)) == Ok(rest.len())
    }
}

pub(super) fn too_large(length: usize) -> Status {
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
            // Whoever asks on has taken over what has arrived.
            this.arrived.clear();
            if this.inflating.is_some() {
                if let Err(status) = ready!(this.poll_inflating(cx)) {
                    return Poll::Ready(Some(Err(status)));
                }
                continue;
            }
            let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
                return this
                    .check_pause(cx)
                    .map_or_else(|status| Poll::Ready(Some(Err(status))), |()| Poll::Pending);
            };
            if let Some(pause) = &mut this.pause {
                pause.as_mut().reset(Instant::now() + PAUSE_MAX);
            }
            let frame = match frame {
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
        self.ready.is_empty() && self.inflating.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::new()
    }
}

#[cfg(test)]
mod tests;
