//! Sockets: binds, accepts, bounds the number of connections, and drains them when the server stops.
//!
//! What is spoken on a connection is the caller's business. Encryption is not here yet.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// Connections that are open at once; later ones wait in the backlog.
pub const CONNECTIONS_MAX: usize = 16 * 1024;
/// Pause after an accept that failed for want of resources, such as file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    /// Several processes may share the port.
    pub reuse_port: bool,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The text is the one that scripts around Triton look for.
    #[error("Socket '{0}' already in use ")]
    InUse(Address),
    #[error("cannot listen on '{address}': {source}; check the address and the permission to use it")]
    Failed { address: Address, source: io::Error },
}

/// Listens on an address. Must run inside a tokio runtime, whose reactor the listener joins.
pub async fn bind(address: &Address) -> Result<TcpListener, BindError> {
    let failed = |source| BindError::Failed { address: address.clone(), source };
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for candidate in lookup_host((address.host.as_str(), address.port)).await.map_err(failed)? {
        match bind_one(candidate, address.reuse_port) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    if last.kind() == io::ErrorKind::AddrInUse {
        return Err(BindError::InUse(address.clone()));
    }
    Err(failed(last))
}

fn bind_one(address: SocketAddr, reuse_port: bool) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(reuse_port)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Told once: finish what is in flight and take nothing new.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// `receiver` turns true, or loses its sender, when the server stops.
    #[must_use]
    pub const fn new(receiver: watch::Receiver<bool>) -> Self {
        Self(receiver)
    }

    /// Whether the server is stopping.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the server stops.
    pub async fn requested(&mut self) {
        // An error means that whoever could stop the server is gone: stop.
        let _ = self.0.wait_for(|stopping| *stopping).await;
    }
}

/// Accepts connections until shutdown and gives each to `connect`; returns when the last one has ended.
///
/// Dropping the future ends all connections at once: bound the wait from outside.
pub async fn accept<F>(
    listener: TcpListener,
    mut shutdown: Shutdown,
    connect: impl Fn(TcpStream, Shutdown) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            biased;
            () = shutdown.requested() => break,
            accepted = next(&listener, &permits) => accepted,
        };
        match accepted {
            Ok((stream, permit)) => {
                let connection = connect(stream, shutdown.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // From here on the kernel refuses new connections.
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn next(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                stream.set_nodelay(true)?;
                return Ok((stream, permit));
            }
            // The client left before it was accepted: nothing is wrong here.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
