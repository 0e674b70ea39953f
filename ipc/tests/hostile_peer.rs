//! What a worker could do that means harm, done to the supervisor's side: nothing is believed, nothing grows, nothing
//! leaks, nothing crashes.
//!
//! The peer is played by raw system calls on the other end of the socket, and by a second mapping of the memory.
#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

#[path = "hostile_peer/memory.rs"]
mod memory;

use nereid_ipc::{
    Channel, IpcError, Malformed,
    envelope::Envelope as _,
    packet::{KIND_MESSAGE, MAX_FRAME, MAX_FRAME_FROM_WORKER, MAX_PACKET, spilled},
    sys::{memfd, socket},
};
use nereid_proto::worker::{
    Executed, ExecutionToSupervisor, Response, Tensor, execution_to_supervisor::Message,
};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, SealFlag, fcntl},
    sys::{
        memfd::{MFdFlags, memfd_create},
        socket::{ControlMessage, MsgFlags, sendmsg},
    },
};
use prost::Message as _;
use std::{
    fs::{self, File},
    io::{IoSlice, PipeReader, Read, pipe},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{fs::FileExt, net::UnixStream},
    },
};

const GENERATION: u64 = 5;

/// A peer that sends what it likes.
struct Hostile(OwnedFd);

impl Hostile {
    fn send(&self, packet: &[u8], fds: &[&dyn AsFd]) {
        let fds: Vec<_> = fds.iter().map(|fd| fd.as_fd().as_raw_fd()).collect();
        let control = [ControlMessage::ScmRights(&fds)];
        let control = if fds.is_empty() { &[][..] } else { &control[..] };
        sendmsg(self.0.as_raw_fd(), &[IoSlice::new(packet)], control, MsgFlags::MSG_NOSIGNAL, None::<&()>)
            .unwrap();
    }
}

fn pair() -> (Channel, Hostile) {
    let (ours, theirs) = Channel::pair().unwrap();
    (ours, Hostile(theirs.into_fd()))
}

/// As the supervisor receives: a message of its own generation, or an error.
fn receive(channel: &mut Channel) -> Result<ExecutionToSupervisor, IpcError> {
    let received = channel.recv::<ExecutionToSupervisor>()?;
    received.message.check_generation(GENERATION)?;
    Ok(received.message)
}

fn refusal(channel: &mut Channel) -> Malformed {
    match receive(channel) {
        Err(IpcError::Malformed(malformed)) => malformed,
        other => panic!("not refused as malformed: {other:?}"),
    }
}

fn honest() -> ExecutionToSupervisor {
    let outputs = vec![Tensor { name: "y".to_owned(), shape: vec![1, 2, 3], ..Default::default() }];
    let response = Response { ticket: 1, outputs, r#final: true, ..Default::default() };
    let executed = Executed { batch: 1, responses: vec![response], timing: None };
    ExecutionToSupervisor { generation: GENERATION, message: Some(Message::Executed(executed)) }
}

fn honest_packet() -> Vec<u8> {
    let mut packet = vec![KIND_MESSAGE];
    honest().encode(&mut packet).unwrap();
    packet
}

/// A writer to pass, and a reader that tells whether every copy of it has been closed.
fn watched_fd() -> (PipeReader, OwnedFd) {
    let (reader, writer) = pipe().unwrap();
    (reader, writer.into())
}

#[track_caller]
fn assert_closed_everywhere(mut reader: PipeReader, writer: OwnedFd) {
    drop(writer);
    // Blocks for ever if a copy is still open.
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}

/// Far more than other tests of this process take meanwhile, far less than what a leak would add up to.
const NOISE_BYTES: u64 = 256 << 20;

fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

// === Packets ===

#[test]
fn every_truncated_packet_is_refused() {
    let (mut ours, theirs) = pair();
    let packet = honest_packet();
    for length in 1..packet.len() {
        theirs.send(&packet[..length], &[]);
        assert!(receive(&mut ours).is_err(), "{length} of {} bytes", packet.len());
    }
    theirs.send(&packet, &[]);
    assert_eq!(receive(&mut ours).unwrap(), honest());
}

#[test]
fn an_empty_packet_counts_as_the_end() {
    let (mut ours, theirs) = pair();
    let (reader, writer) = watched_fd();
    theirs.send(&[], &[&writer]);
    assert!(matches!(receive(&mut ours), Err(IpcError::Closed)));
    assert_closed_everywhere(reader, writer);
}

#[test]
fn garbage_is_refused_and_does_no_harm() {
    let (mut ours, theirs) = pair();
    // A small generator of numbers, the same ones each time.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..5000_usize {
        let packet: Vec<u8> = (0..1 + round % 97)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state.to_be_bytes()[0]
            })
            .collect();
        theirs.send(&packet, &[]);
        assert!(receive(&mut ours).is_err(), "accepted {packet:?}");
    }
}

#[test]
fn every_changed_byte_is_refused_or_decodes_to_something_else() {
    let (mut ours, theirs) = pair();
    let packet = honest_packet();
    for index in 0..packet.len() {
        for change in [1, 0x80, 0xff] {
            let mut packet = packet.clone();
            packet[index] ^= change;
            theirs.send(&packet, &[]);
            assert!(receive(&mut ours).ok() != Some(honest()), "byte {index} does not matter");
        }
    }
}

#[test]
fn oversize_packets_are_refused() {
    let (mut ours, theirs) = pair();
    for length in [MAX_PACKET + 1, 150_000] {
        theirs.send(&vec![0; length], &[]);
        assert_eq!(refusal(&mut ours), Malformed::Oversize);
    }
    // The packet was cut off, not left for the next call.
    theirs.send(&honest_packet(), &[]);
    assert_eq!(receive(&mut ours).unwrap(), honest());
}

#[test]
fn frames_of_another_generation_are_refused() {
    let (mut ours, theirs) = pair();
    for generation in [0, GENERATION - 1, GENERATION + 1, u64::MAX] {
        let message = ExecutionToSupervisor { generation, ..honest() };
        theirs.send(&[&[KIND_MESSAGE], message.encode_to_vec().as_slice()].concat(), &[]);
        assert_eq!(refusal(&mut ours), Malformed::Generation { expected: GENERATION, got: generation });
    }
}

#[test]
fn more_than_one_fd_is_refused_and_all_are_closed() {
    for count in [2, 3, 4, 5, 40, 253] {
        let (mut ours, theirs) = pair();
        let (reader, writer) = watched_fd();
        theirs.send(&honest_packet(), &vec![&writer as &dyn AsFd; count]);
        assert_eq!(refusal(&mut ours), Malformed::ExtraFds, "{count} fds");
        assert_closed_everywhere(reader, writer);
    }
}

#[test]
fn an_fd_that_comes_with_a_refused_packet_is_closed() {
    let oversize = vec![0; MAX_PACKET + 1];
    let packets: [&[u8]; 5] = [&[9, 9], &[KIND_MESSAGE, 0xff], &[1, 2, 3], &spilled(10), &oversize];
    for packet in packets {
        let (mut ours, theirs) = pair();
        let (reader, writer) = watched_fd();
        theirs.send(packet, &[&writer]);
        refusal(&mut ours);
        assert_closed_everywhere(reader, writer);
    }
}

#[test]
fn an_fd_that_nobody_asked_for_is_closed_with_its_message() {
    let (mut ours, theirs) = pair();
    let (reader, writer) = watched_fd();
    theirs.send(&honest_packet(), &[&writer]);
    assert_eq!(receive(&mut ours).unwrap(), honest());
    assert_closed_everywhere(reader, writer);
}

#[test]
fn fds_in_packets_that_nobody_received_die_with_the_channel() {
    let (ours, theirs) = pair();
    let (reader, writer) = watched_fd();
    theirs.send(&honest_packet(), &[&writer]);
    drop((ours, theirs));
    assert_closed_everywhere(reader, writer);
}

#[test]
fn credentials_do_not_arrive() {
    let (mut ours, theirs) = pair();
    let own = nix::sys::socket::UnixCredentials::new();
    let packet = honest_packet();
    let control = [ControlMessage::ScmCredentials(&own)];
    let sent = sendmsg(
        theirs.0.as_raw_fd(),
        &[IoSlice::new(&packet)],
        &control,
        MsgFlags::MSG_NOSIGNAL,
        None::<&()>,
    );
    assert_eq!(sent, Ok(packet.len()));
    assert_eq!(receive(&mut ours).unwrap(), honest());
}

// === Spilled messages ===

fn sealed(contents: &[u8], seals: SealFlag) -> OwnedFd {
    let file = File::from(memfd_create(c"hostile", MFdFlags::MFD_ALLOW_SEALING).unwrap());
    file.write_all_at(contents, 0).unwrap();
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).unwrap();
    file.into()
}

#[test]
fn a_lie_about_the_length_of_a_spilled_message_is_found() {
    let contents = honest().encode_to_vec();
    let actual = contents.len() as u64;
    for told in [0, 1, actual - 1, actual + 1, 1 << 20] {
        let (mut ours, theirs) = pair();
        theirs.send(&spilled(told), &[&memfd::message(c"hostile", &contents).unwrap()]);
        assert_eq!(refusal(&mut ours), Malformed::SpillLength { told, actual });
    }
    let (mut ours, theirs) = pair();
    theirs.send(&spilled(actual), &[&memfd::message(c"hostile", &contents).unwrap()]);
    assert_eq!(receive(&mut ours).unwrap(), honest());
}

#[test]
fn a_spilled_message_over_the_limit_is_refused_before_any_memory_is_reserved() {
    let before = resident_bytes();
    for told in [MAX_FRAME as u64 + 1, 1 << 40, u64::MAX] {
        let (mut ours, theirs) = pair();
        // A sparse file of that size, as far as there can be one, costs the peer nothing.
        let file = File::from(memfd_create(c"hostile", MFdFlags::MFD_ALLOW_SEALING).unwrap());
        file.set_len(told.min(1 << 40)).unwrap();
        fcntl(&file, FcntlArg::F_ADD_SEALS(memfd::MESSAGE_SEALS)).unwrap();
        theirs.send(&spilled(told), &[&file]);
        assert_eq!(refusal(&mut ours), Malformed::SpillLimit { length: told, limit: MAX_FRAME });
        // Nor does it help to tell less than there is.
        theirs.send(&spilled(10), &[&file]);
        assert!(matches!(refusal(&mut ours), Malformed::SpillLength { told: 10, .. }));
    }
    assert!(resident_bytes() < before + NOISE_BYTES);
}

#[test]
fn a_spilled_message_that_could_still_change_is_refused() {
    let contents = honest().encode_to_vec();
    let (shrink, grow, write, seal) =
        (SealFlag::F_SEAL_SHRINK, SealFlag::F_SEAL_GROW, SealFlag::F_SEAL_WRITE, SealFlag::F_SEAL_SEAL);
    for seals in [SealFlag::empty(), seal, write, shrink | grow, shrink | grow | seal, grow | write | seal] {
        let (mut ours, theirs) = pair();
        theirs.send(&spilled(contents.len() as u64), &[&sealed(&contents, seals)]);
        assert_eq!(refusal(&mut ours), Malformed::SpillSeals, "{seals:?}");
    }
}

#[test]
fn a_spilled_message_that_is_no_memfd_is_refused_without_waiting_for_it() {
    let (pipe_end, _writer) = pipe().unwrap();
    let (stream, _other) = UnixStream::pair().unwrap();
    let (packets, _peer) = socket::pair().unwrap();
    let [null, zero, full] = ["null", "zero", "full"].map(|name| File::open(format!("/dev/{name}")).unwrap());
    let directory = File::open("/").unwrap();
    let proc = File::open("/proc/self/maps").unwrap();
    let files: [&dyn AsFd; 8] = [&pipe_end, &stream, &packets, &null, &zero, &full, &directory, &proc];
    for file in files {
        let (mut ours, theirs) = pair();
        theirs.send(&spilled(10), &[file]);
        assert_eq!(refusal(&mut ours), Malformed::SpillSeals);
    }
}

#[test]
fn a_spilled_message_without_its_file_is_refused() {
    let (mut ours, theirs) = pair();
    theirs.send(&spilled(10), &[]);
    assert_eq!(refusal(&mut ours), Malformed::SpillWithoutFd);
}

#[test]
fn garbage_in_a_spilled_message_is_refused() {
    let (mut ours, theirs) = pair();
    theirs.send(&spilled(100_000), &[&memfd::message(c"hostile", &[0xff; 100_000]).unwrap()]);
    assert!(matches!(refusal(&mut ours), Malformed::Decode(_)));
}

#[test]
fn a_hole_in_a_spilled_message_reads_as_zeros() {
    let (mut ours, theirs) = pair();
    let file = File::from(memfd_create(c"hostile", MFdFlags::MFD_ALLOW_SEALING).unwrap());
    file.set_len(1 << 20).unwrap();
    fcntl(&file, FcntlArg::F_ADD_SEALS(memfd::MESSAGE_SEALS)).unwrap();
    theirs.send(&spilled(1 << 20), &[&file]);
    assert!(matches!(refusal(&mut ours), Malformed::Decode(_)));
}

// === Floods ===

#[cfg(feature = "tokio")]
#[tokio::test]
async fn a_peer_that_does_not_read_costs_no_memory_and_no_time() {
    let (ours, theirs) = pair();
    let mut ours = nereid_ipc::AsyncChannel::new(ours).unwrap();
    let mut long = honest();
    let Some(Message::Executed(executed)) = &mut long.message else { panic!("another message") };
    executed.responses[0].outputs[0].name = "y".repeat(MAX_PACKET / 2);
    while ours.try_send(&long, None).is_ok() {}
    let before = resident_bytes();
    for _ in 0..20_000 {
        assert!(matches!(ours.try_send(&long, None), Err(IpcError::Full)));
    }
    assert!(resident_bytes() < before + NOISE_BYTES);
    drop(theirs);
    assert!(matches!(ours.try_send(&honest(), None), Err(IpcError::Closed)));
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn the_supervisor_takes_less_from_a_worker_than_it_sends() {
    let (ours, theirs) = pair();
    let mut ours = nereid_ipc::AsyncChannel::new(ours).unwrap();
    let told = MAX_FRAME_FROM_WORKER as u64 + 1;
    let contents = vec![0; MAX_FRAME_FROM_WORKER + 1];
    theirs.send(&spilled(told), &[&memfd::message(c"hostile", &contents).unwrap()]);
    let refused = ours.recv::<ExecutionToSupervisor>().await;
    let expected = Malformed::SpillLimit { length: told, limit: MAX_FRAME_FROM_WORKER };
    assert!(matches!(refused, Err(IpcError::Malformed(malformed)) if malformed == expected));
}

#[test]
fn a_peer_that_only_sends_fills_its_own_socket_and_no_memory_of_ours() {
    let (mut ours, theirs) = pair();
    // As long as can be, and mostly of a field that nobody knows.
    let mut packet = honest_packet();
    let padding = 50_000;
    prost::encoding::bytes::encode(999, &vec![0; padding], &mut packet);
    let flood = || {
        let mut sent = 0;
        loop {
            match socket::send_packet(theirs.0.as_fd(), &packet, None, socket::Wait::No) {
                Ok(()) => sent += 1,
                Err(Errno::EAGAIN) => return sent,
                Err(error) => panic!("{error}"),
            }
        }
    };
    let queued = flood();
    assert!(queued < 50, "{queued} packets wait in the kernel");
    let before = resident_bytes();
    for _ in 0..20_000 {
        assert_eq!(receive(&mut ours).unwrap(), honest());
        flood();
    }
    assert!(resident_bytes() < before + NOISE_BYTES);
}

/// What a worker can make the supervisor allocate by one message: many empty ones in it, two bytes each.
#[test]
fn a_message_of_many_empty_ones_decodes_to_a_bounded_size() {
    let entries = MAX_FRAME_FROM_WORKER / 2;
    assert!(entries * size_of::<Response>() <= 128 << 20, "a Response takes {} bytes", size_of::<Response>());
    assert!(entries * size_of::<Tensor>() <= 128 << 20, "a Tensor takes {} bytes", size_of::<Tensor>());
}
