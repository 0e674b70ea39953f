//! A connection's socket, with what is written gathered until there is nothing more to write.
//!
//! The HTTP/2 library writes and flushes every frame by itself, and clients often ask for frames of 16 KiB: a large
//! tensor would be a system call for each. Here a flush only marks; [`drive`] flushes for good when the library has
//! nothing more to do for now.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// What is gathered at most. As much as the kernel passes on in one piece.
const GATHERED_MAX: usize = 64 * 1024;

/// The socket and what waits for it.
#[derive(Debug)]
struct Gathering {
    socket: TokioIo<TcpStream>,
    gathered: Vec<u8>,
    /// Bytes of `gathered` that are written.
    written: usize,
}

impl Gathering {
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.gathered.len() {
            let left = &self.gathered[self.written..];
            match ready!(Pin::new(&mut self.socket).poll_write(cx, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        self.gathered.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }

    fn room(&self) -> usize {
        GATHERED_MAX.saturating_sub(self.gathered.len())
    }

    /// Takes as much of `bytes` as there is room for.
    fn gather(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room());
        self.gathered.extend_from_slice(&bytes[..count]);
        count
    }
}

/// The socket as the HTTP/2 library sees it.
#[derive(Clone, Debug)]
pub(super) struct Transport(Arc<Mutex<Gathering>>);

impl Transport {
    pub(super) fn new(stream: TcpStream) -> Self {
        let gathering = Gathering { socket: TokioIo::new(stream), gathered: Vec::new(), written: 0 };
        Self(Arc::new(Mutex::new(gathering)))
    }

    /// Never contended: only the connection's task comes here.
    fn lock(&self) -> MutexGuard<'_, Gathering> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().socket).poll_read(cx, buffer)
    }
}

impl Write for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut gathering = self.lock();
        if gathering.room() == 0 {
            ready!(gathering.poll_drain(cx))?;
        }
        Poll::Ready(Ok(slices.iter().map(|slice| gathering.gather(slice)).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Flushed by [`drive`].
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut gathering = self.lock();
        ready!(gathering.poll_drain(cx))?;
        Pin::new(&mut gathering.socket).poll_shutdown(cx)
    }
}

/// Polls a connection over `transport`, and writes what it has gathered when it waits.
pub(super) async fn drive<C: Future>(mut connection: Pin<&mut C>, transport: &Transport) -> C::Output {
    std::future::poll_fn(|cx| {
        let polled = connection.as_mut().poll(cx);
        // An error shows when the connection reads or writes the next time.
        let _ = transport.lock().poll_drain(cx);
        polled
    })
    .await
}

#[cfg(test)]
mod tests;
