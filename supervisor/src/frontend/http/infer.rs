//! Infer: body → request → response → body.
//!
//! What takes long enough to be felt (large JSON, compression) leaves the connection's thread.

mod document;
mod outputs;
mod raw;
mod request;
mod response;

use std::collections::VecDeque;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use http::{Request, Response, StatusCode};
use hyper::body::Body;
use nereid_core::error::ServeError;
use nereid_proto::inference::DataType;

use super::HttpFrontend;
use super::binary::{HEADER_LENGTH, json_length};
use super::body::{self, BODY_SIZE_MAX, Read, ReadError, Received, ReplyBody};
use super::compress::{Encoding, compress, decompress};
use super::reply::{self, Reply};
use super::router::ModelPath;
use crate::frontend::rope::{Rope, joined};
use crate::frontend::{Upstream, bounds, version, work};
use crate::serve::ModelView;
use crate::serve::request::{InferRequest, InferResponse, InputTensor};
use outputs::OutputPlan;
use request::Decoded;
use response::Encoded;

/// How many bytes one of a packed body is taken for: a few unpack to very many.
const PACKED_WEIGHT: usize = 64;
/// What a packed body may have on top of what it may unpack to.
const PACKING_OVERHEAD: u64 = 64 * 1024;

/// Runs one inference. An error reply says all that the client needs.
pub(crate) async fn infer<U, B>(
    frontend: &HttpFrontend<U>,
    request: Request<B>,
    path: ModelPath<'_>,
) -> Result<Reply, Reply>
where
    U: Upstream,
    B: Body<Data = Bytes> + Unpin + Send,
{
    let (parts, body) = request.into_parts();
    let headers = Headers::new(&parts.headers);
    let size_max = frontend.settings.max_input_size;
    let body = body::read(&*frontend.upstream, body, headers.length, headers.keep_max(size_max)).await;
    let body = match body {
        Ok(body) => body,
        // Nobody reads the reply to a broken connection.
        Err(ReadError::Broken) => return Err(reply::closing(reply::empty(StatusCode::BAD_REQUEST))),
        Err(ReadError::Slow) => {
            let text = "the request body did not arrive in time";
            return Err(reply::closing(reply::message(StatusCode::REQUEST_TIMEOUT, text)));
        }
        Err(ReadError::Refused(error)) => return Err(reply::closing(reply::error(&error))),
    };
    run(frontend, &headers, path, body).await.map_err(|error| {
        let reply = reply::error(&error);
        if headers.encoding.is_err() {
            return reply::with(reply, ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate"));
        }
        reply
    })
}

/// What the headers of an inference say.
struct Headers<'a> {
    map: &'a HeaderMap,
    length: Option<u64>,
    json_length: Option<&'a [u8]>,
    encoding: Result<Encoding, ServeError>,
    accepted: Encoding,
}

impl<'a> Headers<'a> {
    fn new(map: &'a HeaderMap) -> Self {
        let text = |name: HeaderName| map.get(name).and_then(|value| value.to_str().ok());
        Self {
            map,
            length: text(CONTENT_LENGTH).and_then(|length| length.parse().ok()),
            json_length: map.get(HEADER_LENGTH).map(HeaderValue::as_bytes),
            encoding: Encoding::of_request(map.get(CONTENT_ENCODING).map(HeaderValue::as_bytes)),
            accepted: Encoding::accepted(text(ACCEPT_ENCODING)),
        }
    }

    /// How much of a body is worth keeping. Binary tensors behind a JSON part have no limit of their own.
    fn keep_max(&self, size_max: u64) -> u64 {
        match (&self.encoding, self.json_length) {
            (Ok(Encoding::Gzip | Encoding::Deflate), _) => size_max.saturating_add(PACKING_OVERHEAD),
            (Ok(Encoding::Identity), Some(length)) if length != b"0" => BODY_SIZE_MAX,
            (Ok(Encoding::Identity), _) => size_max,
            (Err(_), _) => 0,
        }
    }

    /// The error of a body that was not kept.
    fn too_large(&self, size: u64, size_max: u64) -> ServeError {
        match (&self.encoding, self.json_length) {
            (Ok(Encoding::Gzip | Encoding::Deflate), _) => ServeError::invalid(format!(
                "Decompressed data size exceeds the maximum allowed value of {size_max} bytes. Use \
                 --http-max-input-size to increase the limit."
            )),
            (Ok(Encoding::Identity), Some(_)) => raw::too_large(size, size_max),
            (Ok(Encoding::Identity), None) => request::json_too_large(size, size_max),
            (Err(error), _) => error.clone(),
        }
    }
}

async fn run<U: Upstream>(
    frontend: &HttpFrontend<U>,
    headers: &Headers<'_>,
    path: ModelPath<'_>,
    body: Read,
) -> Result<Reply, ServeError> {
    let version = version::parse(path.version)?;
    let model = frontend.upstream.model(path.name, version)?;
    if model.is_decoupled() {
        return Err(ServeError::unsupported(
            "HTTP end point doesn't support models with decoupled transaction policy",
        ));
    }
    let encoding = headers.encoding.clone()?;
    let size_max = frontend.settings.max_input_size;
    let body = match body {
        Read::Kept(body) => body,
        Read::Dropped(size) => return Err(headers.too_large(size, size_max)),
    };
    let mut body = unpack(encoding, body, size_max).await?;
    let room = body.room.take();
    let json_length = json_length(headers.json_length, body.rope.len())?;
    let Decoded { mut request, outputs } =
        decode(&*model, path.name, body.rope, json_length, size_max).await?;
    request.version = version;
    request.reserved = room;
    if let Some(pattern) = &frontend.settings.forward {
        let all = headers.map.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        pattern.forward(all, &mut request.parameters)?;
    }
    bounds::check(&request)?;
    drop(model);
    let response = frontend.upstream.infer(request).await?;
    let encoded = encode(response, outputs).await?;
    Ok(finish(encoded, headers.accepted).await)
}

async fn unpack(encoding: Encoding, body: Received, size_max: u64) -> Result<Received, ServeError> {
    if encoding == Encoding::Identity {
        return Ok(body);
    }
    let length = body.rope.len();
    work::run(length.saturating_mul(PACKED_WEIGHT), move || {
        decompress(&body.rope.slice(0..length), size_max).map(Received::from)
    })
    .await
}

async fn decode(
    model: &dyn ModelView,
    name: &str,
    body: Rope,
    json_length: usize,
    size_max: u64,
) -> Result<Decoded, ServeError> {
    if json_length > 0 {
        if json_length as u64 > size_max {
            return Err(request::json_too_large(json_length as u64, size_max));
        }
        let name = name.to_owned();
        let decode = move || request::decode(&name, body, json_length, size_max);
        let Decoded { request, outputs } = work::run(json_length, decode).await?;
        return Ok(Decoded { request: join_strings(request).await?, outputs });
    }
    if body.len() as u64 > size_max {
        return Err(raw::too_large(body.len() as u64, size_max));
    }
    let input = raw::input(model.config(), &body)?;
    let request = InferRequest { model: name.to_owned(), inputs: vec![input], ..InferRequest::default() };
    Ok(Decoded { request: join_strings(request).await?, outputs: OutputPlan::binary() })
}

/// Brings the strings of each BYTES tensor together, because they have to be looked at.
async fn join_strings(mut request: InferRequest) -> Result<InferRequest, ServeError> {
    let is_scattered =
        |input: &InputTensor| input.datatype == DataType::TypeString && input.data.as_slice().is_none();
    let size: usize =
        request.inputs.iter().filter(|input| is_scattered(input)).map(|input| input.data.len()).sum();
    if size == 0 {
        return Ok(request);
    }
    work::run(size, move || {
        for input in request.inputs.iter_mut().filter(|input| is_scattered(input)) {
            input.data = joined(&input.data).into();
        }
        Ok(request)
    })
    .await
}

async fn encode(response: InferResponse, outputs: OutputPlan) -> Result<Encoded, ServeError> {
    let written = response.outputs.iter().filter(|output| !outputs.is_binary(&output.name));
    let size = written.map(|output| output.data.len()).sum();
    work::run(size, move || response::encode(response, &outputs)).await
}

async fn finish(encoded: Encoded, accepted: Encoding) -> Reply {
    let Encoded { first, rest, json_length } = encoded;
    let (body, encoding) = pack(first, rest, accepted).await;
    let mut reply = Response::new(body);
    let headers = reply.headers_mut();
    match json_length {
        None => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Some(length) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
            headers.insert(HeaderName::from_static(HEADER_LENGTH), HeaderValue::from(length));
        }
    }
    if let Some(name) = encoding.name() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    reply
}

/// Packs a reply's pieces if the client likes that. What cannot be packed is sent as it is.
async fn pack(first: Bytes, rest: VecDeque<Bytes>, accepted: Encoding) -> (ReplyBody, Encoding) {
    if accepted != Encoding::Identity {
        let pieces: Vec<Bytes> = std::iter::once(&first).chain(&rest).cloned().collect();
        let size = pieces.iter().map(Bytes::len).sum();
        let packed = work::run(size, move || {
            compress(accepted, &pieces).map_err(|error| ServeError::internal(error.to_string()))
        });
        match packed.await {
            Ok(packed) => return (ReplyBody::from(packed), accepted),
            Err(error) => tracing::debug!("unable to compress response: {error}"),
        }
    }
    (ReplyBody::new(first, rest), Encoding::Identity)
}

#[cfg(test)]
mod tests;
