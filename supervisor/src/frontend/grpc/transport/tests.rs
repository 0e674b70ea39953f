use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (listener.accept().await.unwrap().0, client)
}

/// Writes all of `bytes`, flushing after each part.
async fn write(transport: &mut Transport, bytes: &[u8], part: usize) {
    for part in bytes.chunks(part) {
        let mut left = part;
        while !left.is_empty() {
            let count =
                std::future::poll_fn(|cx| Pin::new(&mut *transport).poll_write(cx, left)).await.unwrap();
            left = &left[count..];
        }
        std::future::poll_fn(|cx| Pin::new(&mut *transport).poll_flush(cx)).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_written_waits_until_the_connection_waits() {
    let (server, mut client) = pair().await;
    let mut transport = Transport::new(server);
    write(&mut transport, b"hello", 1).await;
    assert_eq!(client.try_read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    let handle = transport.clone();
    let connection = async move {
        let mut byte = [0; 1];
        let mut buffer = hyper::rt::ReadBuf::new(&mut byte);
        std::future::poll_fn(|cx| Pin::new(&mut transport).poll_read(cx, buffer.unfilled())).await.unwrap();
        byte[0]
    };
    let driven = tokio::spawn(async move { drive(std::pin::pin!(connection), &handle).await });
    let mut text = [0; 5];
    client.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"hello");
    client.write_all(b"x").await.unwrap();
    assert_eq!(driven.await.unwrap(), b'x');
}

#[tokio::test]
async fn what_arrives_is_read_in_order_whatever_is_asked_for() {
    let (server, mut client) = pair().await;
    let all: Vec<u8> = (0..2_000_000_u32).map(|index| index.to_le_bytes()[1]).collect();
    let expected = all.clone();
    let sending = tokio::spawn(async move {
        client.write_all(&all).await.unwrap();
    });
    let mut transport = Transport::new(server);
    let mut received = Vec::new();
    for size in (1..20_000).step_by(13).cycle() {
        let mut bytes = vec![0; size];
        let mut buffer = hyper::rt::ReadBuf::new(&mut bytes);
        std::future::poll_fn(|cx| Pin::new(&mut transport).poll_read(cx, buffer.unfilled())).await.unwrap();
        if buffer.filled().is_empty() {
            break;
        }
        received.extend_from_slice(buffer.filled());
    }
    sending.await.unwrap();
    assert!(received == expected);
    assert!(AHEAD.contains(&transport.lock().ahead.len()));
}

#[tokio::test]
async fn much_is_written_in_order_and_all_of_it_before_the_end() {
    let (server, mut client) = pair().await;
    let all: Vec<u8> = (0..3_000_000_u32).map(|index| index.to_le_bytes()[1]).collect();
    let expected = all.clone();
    let writing = tokio::spawn(async move {
        let mut transport = Transport::new(server);
        write(&mut transport, &all, 16_393).await;
        std::future::poll_fn(|cx| Pin::new(&mut transport).poll_shutdown(cx)).await.unwrap();
    });
    let mut received = Vec::new();
    client.read_to_end(&mut received).await.unwrap();
    writing.await.unwrap();
    assert!(received == expected);
}
