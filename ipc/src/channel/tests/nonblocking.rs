use super::{log, pong, recv};
use crate::{
    channel::{AsyncChannel, Channel},
    error::IpcError,
    packet::{MAX_FRAME_FROM_WORKER, MAX_PACKET},
};
use nereid_proto::worker::ControlToSupervisor;
use std::{future::poll_fn, os::fd::AsFd, task::Poll, thread};

fn pair() -> (AsyncChannel, Channel) {
    let (ours, theirs) = Channel::pair().unwrap();
    (AsyncChannel::new(ours).unwrap(), theirs)
}

async fn next(channel: &mut AsyncChannel) -> Result<ControlToSupervisor, IpcError> {
    channel.recv().await.map(|received| received.message)
}

fn fill(channel: &mut AsyncChannel) -> u64 {
    let mut sent = 0;
    while channel.try_send(&pong(sent), None).is_ok() {
        sent += 1;
    }
    assert!(matches!(channel.try_send(&pong(sent), None), Err(IpcError::Full)));
    sent
}

#[tokio::test]
async fn messages_go_both_ways_in_order() {
    let (mut ours, mut theirs) = pair();
    let worker = thread::spawn(move || {
        while let Ok(message) = recv(&mut theirs) {
            theirs.send(&message, None).unwrap();
        }
    });
    for nonce in 0..200 {
        ours.send(&pong(nonce), None).await.unwrap();
        assert_eq!(next(&mut ours).await.unwrap(), pong(nonce));
    }
    drop(ours);
    worker.join().unwrap();
}

#[tokio::test]
async fn long_messages_and_fds_arrive() {
    let (mut ours, mut theirs) = pair();
    theirs.send(&log(MAX_PACKET * 3), None).unwrap();
    let (_reader, writer) = std::io::pipe().unwrap();
    theirs.send(&pong(1), Some(writer.as_fd())).unwrap();
    assert!(next(&mut ours).await.unwrap() == log(MAX_PACKET * 3));
    let received = ours.recv::<ControlToSupervisor>().await.unwrap();
    assert!(received.fd.is_some());
    assert!(ours.try_recv::<ControlToSupervisor>().unwrap().is_none());
}

#[tokio::test]
async fn the_supervisor_may_send_more_than_it_takes() {
    let (mut ours, mut theirs) = pair();
    ours.send(&log(MAX_FRAME_FROM_WORKER + 1), None).await.unwrap();
    assert!(recv(&mut theirs).is_ok());
}

#[tokio::test]
async fn the_end_comes_after_the_last_message() {
    let (mut ours, mut theirs) = pair();
    ours.try_send(&pong(9), None).unwrap();
    theirs.send(&pong(1), None).unwrap();
    drop(theirs);
    assert_eq!(next(&mut ours).await.unwrap(), pong(1));
    assert!(matches!(next(&mut ours).await, Err(IpcError::Closed)));
    assert!(matches!(ours.try_send(&pong(2), None), Err(IpcError::Closed)));
    assert!(matches!(ours.send(&pong(2), None).await, Err(IpcError::Closed)));
}

#[tokio::test]
async fn a_waiting_receiver_learns_of_the_end() {
    let (mut ours, theirs) = pair();
    let end = tokio::spawn(async move { next(&mut ours).await });
    tokio::task::yield_now().await;
    drop(theirs);
    assert!(matches!(end.await.unwrap(), Err(IpcError::Closed)));
}

#[tokio::test]
async fn a_sender_waits_while_the_socket_is_full() {
    let (mut ours, mut theirs) = pair();
    let sent = fill(&mut ours);
    let sender = tokio::spawn(async move {
        let result = ours.send(&pong(sent), None).await;
        (ours, result)
    });
    tokio::task::yield_now().await;
    assert!(!sender.is_finished());
    let reader = thread::spawn(move || {
        (0..=sent).for_each(|nonce| assert_eq!(recv(&mut theirs).unwrap(), pong(nonce)));
        theirs
    });
    let (_ours, result) = sender.await.unwrap();
    result.unwrap();
    reader.join().unwrap();
}

#[tokio::test]
async fn a_dropped_send_has_sent_nothing() {
    let (mut ours, mut theirs) = pair();
    let sent = fill(&mut ours);
    let message = pong(1_000_000);
    {
        let mut send = std::pin::pin!(ours.send(&message, None));
        poll_fn(|cx| {
            assert!(send.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
    }
    (0..sent).for_each(|nonce| assert_eq!(recv(&mut theirs).unwrap(), pong(nonce)));
    assert!(theirs.try_recv::<ControlToSupervisor>().unwrap().is_none());
}

#[tokio::test]
async fn room_is_told_when_the_peer_reads_and_when_it_goes() {
    let (mut ours, mut theirs) = pair();
    ours.writable().await.unwrap();
    let sent = fill(&mut ours);
    poll_fn(|cx| {
        assert!(ours.poll_writable(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    let reader = thread::spawn(move || {
        (0..sent).for_each(|nonce| assert_eq!(recv(&mut theirs).unwrap(), pong(nonce)));
        theirs
    });
    ours.writable().await.unwrap();
    ours.try_send(&pong(1), None).unwrap();
    let theirs = reader.join().unwrap();
    fill(&mut ours);
    drop(theirs);
    ours.writable().await.unwrap();
    assert!(matches!(ours.try_send(&pong(1), None), Err(IpcError::Closed)));
}

#[tokio::test]
async fn the_socket_can_be_taken_back() {
    let (ours, mut theirs) = pair();
    let mut ours = AsyncChannel::new(Channel::from_fd(ours.into_fd()).unwrap()).unwrap();
    ours.try_send(&pong(1), None).unwrap();
    assert_eq!(recv(&mut theirs).unwrap(), pong(1));
}
