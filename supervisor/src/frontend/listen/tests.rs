use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn local(port: u16) -> Address {
    Address { host: "127.0.0.1".into(), port, reuse_port: false }
}

#[tokio::test]
async fn a_taken_port_is_named_in_the_words_that_scripts_look_for() {
    let first = bind(&local(0)).await.unwrap();
    let port = first.local_addr().unwrap().port();
    let error = bind(&local(port)).await.unwrap_err();
    assert_eq!(error.to_string(), format!("Socket '127.0.0.1:{port}' already in use "));
}

#[tokio::test]
async fn a_shared_port_can_be_bound_twice() {
    let first = bind(&Address { reuse_port: true, ..local(0) }).await.unwrap();
    let port = first.local_addr().unwrap().port();
    bind(&Address { reuse_port: true, ..local(port) }).await.unwrap();
}

#[tokio::test]
async fn shutdown_waits_for_open_connections_and_refuses_new_ones() {
    let listener = bind(&local(0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopping) = watch::channel(false);
    let (accepted, mut connected) = tokio::sync::mpsc::channel(1);
    let serving = tokio::spawn(accept(listener, Shutdown::new(stopping), move |mut stream: TcpStream, _| {
        accepted.try_send(()).unwrap();
        async move {
            let mut byte = [0];
            stream.read_exact(&mut byte).await.unwrap();
            stream.write_all(&byte).await.unwrap();
        }
    }));
    let mut client = TcpStream::connect(address).await.unwrap();
    connected.recv().await.unwrap();
    stop.send(true).unwrap();
    client.write_all(b"x").await.unwrap();
    let mut byte = [0];
    client.read_exact(&mut byte).await.unwrap();
    serving.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
