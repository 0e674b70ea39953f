//! The unary inference call, without the gRPC library's general path.
//!
//! The library joins a message's pieces and copies every tensor of a response into one buffer; for large tensors that
//! is most of the work. Here a request's tensors stay in the pieces in which they came, and a response's are sent from
//! where they lie.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use tonic::Status;

use super::message;
use super::receive::HEAD_SIZE;
use super::{GrpcFrontend, Reply};
use crate::frontend::Upstream;
use crate::frontend::restrict::Category;
use crate::frontend::rope::Rope;

/// The path of the call.
pub(super) const PATH: &str = "/inference.GRPCInferenceService/ModelInfer";
/// The trailer that ends every call.
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

impl<U: Upstream> GrpcFrontend<U> {
    pub(super) async fn unary<B>(&self, request: Request<B>) -> Response<Reply>
    where
        B: Body<Data = Bytes, Error = Status> + Unpin,
    {
        match self.answer(request).await {
            Ok(pieces) => {
                let mut response = Response::new(Reply::Infer(Pieces { pieces, over: false }));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
                response
            }
            Err(status) => status.into_http(),
        }
    }

    async fn answer<B>(&self, request: Request<B>) -> Result<VecDeque<Bytes>, Status>
    where
        B: Body<Data = Bytes, Error = Status> + Unpin,
    {
        let (parts, body) = request.into_parts();
        let header = |name: &str| parts.headers.get(name).map(HeaderValue::as_bytes);
        self.check_restricted(Category::Inference, header)?;
        let message = message::decode(one_message(body).await?).await?;
        let headers = parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let response = self.infer_one(headers, message).await?;
        Ok(message::encode(response))
    }
}

/// Reads the call's one message, without its head.
async fn one_message<B>(mut body: B) -> Result<Rope, Status>
where
    B: Body<Data = Bytes, Error = Status> + Unpin,
{
    let mut rope = Rope::default();
    let mut head: Vec<u8> = Vec::with_capacity(HEAD_SIZE);
    let mut length = None;
    while length.is_none_or(|length| rope.len() < length) {
        let Some(frame) = body.frame().await else {
            return Err(Status::internal("Missing request message."));
        };
        let Ok(mut data) = frame?.into_data() else { continue };
        if length.is_none() {
            head.extend_from_slice(&data.split_to(data.len().min(HEAD_SIZE - head.len())));
            if let Some(&[flag, ref bytes @ ..]) = head.first_chunk::<HEAD_SIZE>() {
                if flag != 0 {
                    return Err(Status::unimplemented(
                        "the message is packed in a way that is not understood; gzip and deflate are",
                    ));
                }
                length = Some(usize::try_from(u32::from_be_bytes(*bytes)).unwrap_or(usize::MAX));
            }
        }
        if let Some(length) = length {
            // What follows the message does not belong to the call.
            data.truncate(length - rope.len());
        }
        if !data.is_empty() {
            rope.push(data);
        }
    }
    rope.seal();
    Ok(rope)
}

/// The body of a reply: a message in pieces, and the status that ends the call.
#[derive(Debug)]
pub(super) struct Pieces {
    pieces: VecDeque<Bytes>,
    over: bool,
}

impl Pieces {
    pub(super) fn poll(&mut self) -> Option<Frame<Bytes>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Some(Frame::data(piece));
        }
        if std::mem::replace(&mut self.over, true) {
            return None;
        }
        let trailers = HeaderMap::from_iter([(GRPC_STATUS, HeaderValue::from_static("0"))]);
        Some(Frame::trailers(trailers))
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::Library(tonic::body::Body::empty())
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match &mut *self {
            Self::Infer(pieces) => Poll::Ready(pieces.poll().map(Ok)),
            Self::Library(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Infer(pieces) => pieces.over,
            Self::Library(body) => body.is_end_stream(),
        }
    }
}
