//! What the fuzz targets do with their input. `ipc/tests/fuzz_seeds.rs` does the same on a stable compiler.
#![allow(dead_code, clippy::allow_attributes, reason = "each target uses one of them")]

use nereid_ipc::{
    descriptor::{self, Limits},
    elements,
    packet::{self, Frame},
};
use nereid_proto::worker;
use prost::Message;

/// A packet from the peer, as whichever message it is taken for.
pub(crate) fn decode_message(data: &[u8]) {
    match packet::parse(data) {
        Err(_) => {}
        Ok(Frame::Message(payload)) => assert_eq!(payload.len() + 1, data.len()),
        Ok(Frame::Spilled(length)) => assert_eq!(data, packet::spilled(length)),
    }
    come_back::<worker::ControlToSupervisor>(data);
    come_back::<worker::ExecutionToSupervisor>(data);
    come_back::<worker::ControlToWorker>(data);
    come_back::<worker::ExecutionToWorker>(data);
}

/// What was decoded encodes to a packet that decodes to the same. Compared as bytes, since a number may be no number.
fn come_back<M: Message + Default>(data: &[u8]) {
    let Ok(message) = packet::decode::<M>(data) else { return };
    let mut once = Vec::new();
    if !packet::encode(&message, message.encoded_len(), &mut once) {
        return;
    }
    let Ok(again) = packet::decode::<M>(&once) else { panic!("an encoded message does not decode") };
    let mut twice = Vec::new();
    assert!(packet::encode(&again, again.encoded_len(), &mut twice));
    assert_eq!(once, twice);
}

/// Eight bytes for the length of the segment, then a descriptor that claims to lie in it.
pub(crate) fn check_descriptor(data: &[u8]) {
    // The elements of a BYTES tensor are just bytes, too.
    let _ = elements::check(data, 3);
    assert!(
        elements::elements(data).flatten().map(|element| element.len() + elements::PREFIX).sum::<usize>()
            <= data.len()
    );

    let Some((segment, tensor)) = data.split_first_chunk() else { return };
    let segment = u64::from_le_bytes(*segment);
    let Ok(tensor) = worker::Tensor::decode(tensor) else { return };
    match descriptor::check(&tensor, segment, Limits::default()) {
        Err(error) => assert!(error.to_string().len() < 1024, "an error repeats what the peer sent"),
        Ok(checked) => {
            let end = u128::from(checked.offset) + u128::from(checked.length);
            assert!(end <= u128::from(segment), "accepted beyond the end");
            // A zero may stand behind others whose product is longer than even these numbers.
            let sizes = tensor.shape.iter().map(|&size| u128::from(size.unsigned_abs()));
            let elements = if tensor.shape.contains(&0) { 0 } else { sizes.product() };
            assert_eq!(u128::from(checked.elements), elements);
            assert!(tensor.shape.iter().all(|&size| size >= 0));
            if let Some(size) = checked.datatype.byte_size() {
                assert_eq!(elements * size as u128, u128::from(checked.length));
            }
        }
    }
}
