//! The blocking half; what two processes and hostile peers do is tested from outside of the crate.

use super::Channel;
use crate::{
    error::{IpcError, Malformed},
    packet::{MAX_FRAME_FROM_WORKER, MAX_PACKET},
};
use nereid_proto::worker::{ControlToSupervisor, Log, Pong, control_to_supervisor::Message};
use std::{
    fs::File,
    io::{Read, Write},
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};

fn pong(nonce: u64) -> ControlToSupervisor {
    let message = Message::Pong(Pong { nonce, ..Default::default() });
    ControlToSupervisor { generation: 1, message: Some(message) }
}

fn log(length: usize) -> ControlToSupervisor {
    let message = Message::Log(Log { message: "x".repeat(length), ..Default::default() });
    ControlToSupervisor { generation: 1, message: Some(message) }
}

fn recv(channel: &mut Channel) -> Result<ControlToSupervisor, IpcError> {
    channel.recv().map(|received| received.message)
}

#[test]
fn messages_arrive_whole_and_in_order() {
    let (mut a, mut b) = Channel::pair().unwrap();
    for nonce in 0..50 {
        a.send(&pong(nonce), None).unwrap();
    }
    for nonce in 0..50 {
        assert_eq!(recv(&mut b).unwrap(), pong(nonce));
    }
    assert!(b.try_recv::<ControlToSupervisor>().unwrap().is_none());
}

#[test]
fn an_fd_travels_with_its_message() {
    let (mut a, mut b) = Channel::pair().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    a.send(&pong(1), Some(writer.as_fd())).unwrap();
    drop(writer);
    let received = b.recv::<ControlToSupervisor>().unwrap();
    assert_eq!(received.message, pong(1));
    let mut writer = File::from(received.fd.unwrap());
    writer.write_all(b"hello").unwrap();
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello");
}

#[test]
fn long_messages_are_spilled() {
    let (mut a, mut b) = Channel::pair().unwrap();
    for length in [MAX_PACKET - 20, MAX_PACKET, 500_000, MAX_FRAME_FROM_WORKER - 20] {
        a.send(&log(length), None).unwrap();
        let received = b.recv::<ControlToSupervisor>().unwrap();
        assert!(received.message == log(length), "a message of {length} bytes changed");
        assert!(received.fd.is_none(), "the file of the message was passed on");
    }
    a.send(&pong(1), None).unwrap();
    assert_eq!(recv(&mut b).unwrap(), pong(1));
}

#[test]
fn a_message_over_the_limit_is_not_sent() {
    let (mut a, mut b) = Channel::pair().unwrap();
    let refused = a.send(&log(MAX_FRAME_FROM_WORKER), None);
    assert!(matches!(refused, Err(IpcError::TooLarge { limit: MAX_FRAME_FROM_WORKER, .. })));
    assert!(b.try_recv::<ControlToSupervisor>().unwrap().is_none());
}

#[test]
fn a_spilled_message_cannot_bring_an_fd() {
    let (mut a, _b) = Channel::pair().unwrap();
    let (_reader, writer) = std::io::pipe().unwrap();
    let refused = a.send(&log(MAX_PACKET), Some(writer.as_fd()));
    assert!(matches!(refused, Err(IpcError::TooLarge { .. })));
}

#[test]
fn what_was_sent_before_the_end_is_received_before_the_end() {
    let (mut a, mut b) = Channel::pair().unwrap();
    a.send(&pong(1), None).unwrap();
    a.send(&pong(2), None).unwrap();
    drop(a);
    assert_eq!(recv(&mut b).unwrap(), pong(1));
    assert_eq!(recv(&mut b).unwrap(), pong(2));
    assert!(matches!(recv(&mut b), Err(IpcError::Closed)));
    assert!(matches!(b.send(&pong(3), None), Err(IpcError::Closed)));
}

/// The kernel reports a reset once, before the packets that are still there.
#[test]
fn last_words_are_heard_even_if_the_dead_had_not_read_everything() {
    let (mut a, mut b) = Channel::pair().unwrap();
    b.send(&pong(9), None).unwrap();
    a.send(&pong(1), None).unwrap();
    drop(a);
    assert_eq!(recv(&mut b).unwrap(), pong(1));
    assert!(matches!(recv(&mut b), Err(IpcError::Closed)));
}

#[test]
fn a_full_socket_refuses_and_works_again_when_the_peer_reads() {
    let (mut a, mut b) = Channel::pair().unwrap();
    let mut sent = 0;
    let refusal = loop {
        match a.try_send(&pong(sent), None) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refusal, IpcError::Full));
    assert!(sent > 10);
    for nonce in 0..sent {
        assert_eq!(recv(&mut b).unwrap(), pong(nonce));
    }
    a.try_send(&pong(sent), None).unwrap();
}

#[test]
fn another_type_of_message_is_refused() {
    let (mut a, mut b) = Channel::pair().unwrap();
    // Field 1 is a message there and a text here.
    let hello = nereid_proto::worker::LastWords { message: "\u{7f}\u{7f}".to_owned() };
    a.send(&hello, None).unwrap();
    assert!(matches!(recv(&mut b), Err(IpcError::Malformed(Malformed::Decode(_)))));
}

#[test]
fn waiting_tells_which_channels_can_be_read() {
    let (a, mut a_peer) = Channel::pair().unwrap();
    let (b, b_peer) = Channel::pair().unwrap();
    let none = Channel::wait_readable(&[&a, &b], Some(Duration::ZERO)).unwrap();
    assert!(none.timed_out() && !none.is_readable(0));
    a_peer.send(&pong(1), None).unwrap();
    let first = Channel::wait_readable(&[&a, &b], None).unwrap();
    assert_eq!((first.is_readable(0), first.is_readable(1), first.is_readable(40)), (true, false, false));
    drop(b_peer);
    let both = Channel::wait_readable(&[&a, &b], None).unwrap();
    assert!(both.is_readable(0) && both.is_readable(1));
}

#[test]
fn waiting_ends_with_its_time() {
    let (a, _peer) = Channel::pair().unwrap();
    let start = Instant::now();
    let timeout = Duration::from_millis(20);
    assert!(Channel::wait_readable(&[&a], Some(timeout)).unwrap().timed_out());
    assert!(start.elapsed() >= timeout);
}

#[test]
fn waiting_for_too_many_channels_is_refused() {
    let (a, _peer) = Channel::pair().unwrap();
    assert!(Channel::wait_readable(&[&a; 9], Some(Duration::ZERO)).is_err());
    assert!(Channel::wait_readable(&[], Some(Duration::ZERO)).is_err());
}

#[test]
fn a_waiting_receiver_is_woken() {
    let (mut a, mut b) = Channel::pair().unwrap();
    let receiver = thread::spawn(move || recv(&mut b));
    a.send(&pong(7), None).unwrap();
    assert_eq!(receiver.join().unwrap().unwrap(), pong(7));
}

#[test]
fn only_packet_sockets_become_channels() {
    let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    assert!(Channel::from_fd(stream.into()).is_err());
    let (a, mut b) = Channel::pair().unwrap();
    let mut again = Channel::from_fd(a.into_fd()).unwrap();
    again.send(&pong(1), None).unwrap();
    assert_eq!(recv(&mut b).unwrap(), pong(1));
}

#[cfg(feature = "tokio")]
mod nonblocking;
