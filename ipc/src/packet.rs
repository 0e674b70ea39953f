//! The framing of one message in one packet; pure.
//!
//! A packet is a kind byte and a payload. Kind 0: the payload is the encoded message. Kind 1: the message was too long
//! for a packet and was *spilled*: the payload is its length as a little-endian `u64`, and a memfd that holds it
//! travels with the packet. Packets keep their bounds on the socket, so there is no length field for kind 0.

use crate::error::Malformed;
use prost::Message;

/// The longest packet, kind byte included. Longer ones are refused.
pub const MAX_PACKET: usize = 64 * 1024;
/// The longest message that the supervisor sends to a worker, spilled.
pub const MAX_FRAME: usize = 64 * 1024 * 1024;
/// The longest message that the supervisor takes from a worker. Less than [`MAX_FRAME`], because a decoded message may
/// take up to about a hundred times the bytes that encode it, and the worker is not trusted.
pub const MAX_FRAME_FROM_WORKER: usize = 1024 * 1024;
/// The payload is the message.
pub const KIND_MESSAGE: u8 = 0;
/// The payload is the length of the message, which lies in the memfd that came along.
pub const KIND_SPILLED: u8 = 1;

const SPILLED_PACKET: usize = 1 + size_of::<u64>();
const _: () = assert!(MAX_FRAME_FROM_WORKER <= MAX_FRAME && SPILLED_PACKET <= MAX_PACKET);

/// What a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The encoded message.
    Message(&'a [u8]),
    /// The length of the message, as the peer tells it.
    Spilled(u64),
}

/// Takes a received packet apart.
pub fn parse(packet: &[u8]) -> Result<Frame<'_>, Malformed> {
    if packet.len() > MAX_PACKET {
        return Err(Malformed::Oversize);
    }
    match packet.split_first() {
        None => Err(Malformed::Empty),
        Some((&KIND_MESSAGE, payload)) => Ok(Frame::Message(payload)),
        Some((&KIND_SPILLED, payload)) => payload
            .try_into()
            .map(|length| Frame::Spilled(u64::from_le_bytes(length)))
            .map_err(|_| Malformed::SpillHeader(packet.len())),
        Some((&kind, _)) => Err(Malformed::Kind(kind)),
    }
}

/// Decodes a packet that holds its message itself.
pub fn decode<M: Message + Default>(packet: &[u8]) -> Result<M, Malformed> {
    match parse(packet)? {
        Frame::Message(payload) => Ok(M::decode(payload)?),
        Frame::Spilled(_) => Err(Malformed::SpillWithoutFd),
    }
}

/// Replaces what is in `packet` by a packet with `message`, whose encoded length is `length`.
/// Returns whether it fits; if not, `packet` is empty and the message has to be spilled.
pub fn encode<M: Message>(message: &M, length: usize, packet: &mut Vec<u8>) -> bool {
    packet.clear();
    if length >= MAX_PACKET {
        return false;
    }
    packet.push(KIND_MESSAGE);
    message.encode_raw(packet);
    true
}

/// The packet that accompanies a memfd with a spilled message of `length` bytes.
#[must_use]
pub fn spilled(length: u64) -> [u8; SPILLED_PACKET] {
    let mut packet = [KIND_SPILLED; SPILLED_PACKET];
    packet[1..].copy_from_slice(&length.to_le_bytes());
    packet
}

#[cfg(test)]
mod tests;
