use super::{Frame, KIND_MESSAGE, KIND_SPILLED, MAX_PACKET, SPILLED_PACKET, decode, encode, parse, spilled};
use crate::{envelope::Envelope, error::Malformed};
use nereid_proto::worker::{
    Executed, ExecutionToSupervisor, Response, Tensor, Timing, execution_to_supervisor::Message as M,
};
use proptest::prelude::*;
use prost::Message as _;

fn tensors() -> impl Strategy<Value = Vec<Tensor>> {
    let tensor = (".{0,8}", any::<u32>(), prop::collection::vec(any::<i64>(), 0..4), any::<[u64; 3]>());
    let tensor = tensor.prop_map(|(name, data_type, shape, [offset, length, slot])| Tensor {
        name,
        data_type,
        shape,
        segment: data_type,
        offset,
        length,
        slot,
    });
    prop::collection::vec(tensor, 0..4)
}

fn envelopes() -> impl Strategy<Value = ExecutionToSupervisor> {
    (1..=u64::MAX, any::<u64>(), tensors()).prop_map(|(generation, batch, outputs)| {
        let response = Response { ticket: batch, outputs, r#final: true, ..Default::default() };
        let timing = Some(Timing { input_ns: batch, infer_ns: 0, output_ns: 1 });
        let message = M::Executed(Executed { batch, responses: vec![response], timing });
        ExecutionToSupervisor { generation, message: Some(message) }
    })
}

fn packet_of(message: &ExecutionToSupervisor) -> Vec<u8> {
    let mut packet = Vec::new();
    assert!(encode(message, message.encoded_len(), &mut packet));
    packet
}

proptest! {
    #[test]
    fn messages_come_back_as_they_were(message in envelopes()) {
        let packet = packet_of(&message);
        prop_assert_eq!(packet[0], KIND_MESSAGE);
        prop_assert_eq!(decode::<ExecutionToSupervisor>(&packet), Ok(message));
    }

    /// The generation comes last on the wire, so a cut that leaves whole fields leaves none.
    #[test]
    fn every_truncation_is_refused(message in envelopes()) {
        let packet = packet_of(&message);
        for length in 0..packet.len() {
            let cut = decode::<ExecutionToSupervisor>(&packet[..length]);
            let checked = cut.and_then(|cut| cut.check_generation(message.generation));
            prop_assert!(checked.is_err(), "{} of {} bytes were accepted", length, packet.len());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = parse(&bytes);
        let _ = decode::<ExecutionToSupervisor>(&bytes);
    }

    #[test]
    fn spilled_headers_come_back_and_no_other_length_is_taken(length in any::<u64>()) {
        let packet = spilled(length);
        prop_assert_eq!(parse(&packet), Ok(Frame::Spilled(length)));
        for cut in 1..packet.len() {
            prop_assert_eq!(parse(&packet[..cut]), Err(Malformed::SpillHeader(cut)));
        }
        let longer = [&packet[..], &[0]].concat();
        prop_assert_eq!(parse(&longer), Err(Malformed::SpillHeader(SPILLED_PACKET + 1)));
    }
}

#[test]
fn unknown_kinds_are_refused() {
    for kind in KIND_SPILLED + 1..=u8::MAX {
        assert_eq!(parse(&[kind, 0, 0]), Err(Malformed::Kind(kind)));
    }
}

#[test]
fn nothing_is_no_packet() {
    assert_eq!(parse(&[]), Err(Malformed::Empty));
}

#[test]
fn oversize_packets_are_refused() {
    assert_eq!(parse(&vec![0; MAX_PACKET + 1]), Err(Malformed::Oversize));
}

#[test]
fn a_spilled_packet_does_not_decode_by_itself() {
    assert_eq!(decode::<ExecutionToSupervisor>(&spilled(5)), Err(Malformed::SpillWithoutFd));
}

#[test]
fn the_longest_message_fills_the_packet_and_one_byte_more_spills() {
    let mut name = String::new();
    let fill = |name: &str| Tensor { name: name.to_owned(), ..Default::default() };
    let overhead = fill(&"x".repeat(60_000)).encoded_len() - 60_000;
    name.extend(std::iter::repeat_n('x', MAX_PACKET - 1 - overhead));
    let mut packet = Vec::new();
    let longest = fill(&name);
    assert!(encode(&longest, longest.encoded_len(), &mut packet));
    assert_eq!(packet.len(), MAX_PACKET);
    assert_eq!(decode::<Tensor>(&packet), Ok(longest));

    name.push('x');
    let longer = fill(&name);
    assert!(!encode(&longer, longer.encoded_len(), &mut packet));
    assert!(packet.is_empty());
}

#[test]
fn a_golden_packet_keeps_its_bytes() {
    let message = ExecutionToSupervisor {
        generation: 3,
        message: Some(M::NeedSegment(nereid_proto::worker::NeedSegment { length: 4096 })),
    };
    assert_eq!(packet_of(&message), [0, 0x1a, 3, 0x08, 0x80, 0x20, 0x78, 3]);
}
