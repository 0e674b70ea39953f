//! An inference request or response as bytes: tensors are handed through in pieces, only the rest is a message.
//!
//! A general decoder would join a tensor's pieces, and a general encoder would copy every tensor into its buffer. Here
//! the raw contents are cut out before decoding and put behind the encoded rest, which is where their field stands.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use nereid_proto::inference::{ModelInferRequest, ModelInferResponse};
use prost::Message;
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, encoded_len_varint,
    key_len,
};
use tonic::Status;

use super::receive::HEAD_SIZE;
use crate::frontend::rope::{Rope, RopeReader};
use crate::frontend::work::{self, LONG_WORK};
use crate::serve::tensor_data::TensorData;

/// Number of `raw_input_contents` in a request.
const RAW_INPUTS: u32 = 7;
/// Number of `raw_output_contents` in a response, the last of its fields.
const RAW_OUTPUTS: u32 = 6;
/// Inputs and parameters that a request may have, each. No model has as many.
const FIELDS_MAX: usize = 4096;
/// Tensors up to here are copied behind what comes before them.
const JOINED_TENSOR: usize = 16 * 1024;

/// A request whose raw contents were cut out.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) message: ModelInferRequest,
    pub(crate) raw: Vec<TensorData>,
}

impl From<ModelInferRequest> for Request {
    fn from(mut message: ModelInferRequest) -> Self {
        let raw = std::mem::take(&mut message.raw_input_contents);
        Self { message, raw: raw.into_iter().map(TensorData::from).collect() }
    }
}

fn broken(error: impl std::fmt::Display) -> Status {
    Status::internal(format!("failed to decode Protobuf message: {error}"))
}

/// Decodes a request; a thread for long work does it if there is much beside the raw contents.
pub(crate) async fn decode(rope: Rope) -> Result<Request, Status> {
    let mut decoder = Decoder::new(rope);
    if decoder.cut_apart(LONG_WORK)? {
        return decoder.finish();
    }
    work::run(LONG_WORK, move || {
        decoder.cut_apart(usize::MAX)?;
        decoder.finish()
    })
    .await
}

/// A request that is being cut apart into raw contents and the rest.
struct Decoder {
    reader: RopeReader,
    rest: BytesMut,
    raw: Vec<TensorData>,
    fields: usize,
    /// Number and length of a field that is not in the rest yet.
    waiting: Option<(u32, usize)>,
}

impl Decoder {
    fn new(rope: Rope) -> Self {
        Self { reader: rope.into_reader(), rest: BytesMut::new(), raw: Vec::new(), fields: 0, waiting: None }
    }

    /// Cuts field after field off. False if it stopped at one that would make the rest larger than `rest_max` bytes.
    fn cut_apart(&mut self, rest_max: usize) -> Result<bool, Status> {
        loop {
            if let Some((number, length)) = self.waiting {
                if self.rest.len().saturating_add(length) > rest_max {
                    return Ok(false);
                }
                self.waiting = None;
                encode_key(number, WireType::LengthDelimited, &mut self.rest);
                encode_varint(length as u64, &mut self.rest);
                self.rest.put((&mut self.reader).take(length));
            }
            if !self.reader.has_remaining() {
                return Ok(true);
            }
            self.next_field()?;
        }
    }

    fn next_field(&mut self) -> Result<(), Status> {
        let (number, kind) = decode_key(&mut self.reader).map_err(broken)?;
        self.fields += 1;
        if self.fields > 3 * FIELDS_MAX {
            return Err(Status::invalid_argument(format!(
                "a request may have {FIELDS_MAX} inputs, outputs and parameters at most"
            )));
        }
        if kind != WireType::LengthDelimited {
            return copy_number(number, kind, &mut self.reader, &mut self.rest);
        }
        let length = length(&mut self.reader)?;
        if number == RAW_INPUTS {
            self.raw.push(self.reader.cut(length).ok_or_else(|| broken("buffer underflow"))?);
        } else {
            self.waiting = Some((number, length));
        }
        Ok(())
    }

    fn finish(self) -> Result<Request, Status> {
        let message = ModelInferRequest::decode(self.rest.freeze()).map_err(broken)?;
        Ok(Request { message, raw: self.raw })
    }
}

fn length(reader: &mut RopeReader) -> Result<usize, Status> {
    let length = decode_varint(reader).map_err(broken)?;
    usize::try_from(length)
        .ok()
        .filter(|&length| length <= reader.remaining())
        .ok_or_else(|| broken("buffer underflow"))
}

/// Copies a field of a number as it is. Nothing of this protocol is a group.
fn copy_number(
    number: u32,
    kind: WireType,
    reader: &mut RopeReader,
    out: &mut BytesMut,
) -> Result<(), Status> {
    let size = match kind {
        WireType::Varint => {
            let value = decode_varint(reader).map_err(broken)?;
            encode_key(number, kind, out);
            encode_varint(value, out);
            return Ok(());
        }
        WireType::ThirtyTwoBit => 4,
        WireType::SixtyFourBit => 8,
        WireType::LengthDelimited | WireType::StartGroup | WireType::EndGroup => {
            return prost::encoding::skip_field(kind, number, reader, DecodeContext::default())
                .map_err(broken);
        }
    };
    if reader.remaining() < size {
        return Err(broken("buffer underflow"));
    }
    encode_key(number, kind, out);
    out.put(reader.take(size));
    Ok(())
}

/// A response with its head, in pieces. Tensors are not copied unless they are small.
pub(crate) fn encode(mut response: ModelInferResponse) -> VecDeque<Bytes> {
    let raw = std::mem::take(&mut response.raw_output_contents);
    let head_len = |data: &Bytes| key_len(RAW_OUTPUTS) + encoded_len_varint(data.len() as u64);
    let rest = response.encoded_len();
    let total = rest + raw.iter().map(|data| head_len(data) + data.len()).sum::<usize>();
    let joined: usize = raw.iter().map(Bytes::len).filter(|&length| length <= JOINED_TENSOR).sum();
    let mut out = BytesMut::with_capacity(HEAD_SIZE + rest + joined + raw.len() * 12);
    out.put_u8(0);
    // The caller has refused what is longer.
    out.put_u32(u32::try_from(total).unwrap_or(u32::MAX));
    response.encode_raw(&mut out);
    let mut pieces = VecDeque::with_capacity(1 + 2 * raw.len());
    for data in raw {
        encode_key(RAW_OUTPUTS, WireType::LengthDelimited, &mut out);
        encode_varint(data.len() as u64, &mut out);
        if data.len() <= JOINED_TENSOR {
            out.extend_from_slice(&data);
        } else {
            pieces.push_back(out.split().freeze());
            pieces.push_back(data);
        }
    }
    if !out.is_empty() {
        pieces.push_back(out.freeze());
    }
    pieces
}

#[cfg(test)]
mod tests;
