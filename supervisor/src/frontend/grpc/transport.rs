//! A connection's socket, read and written in large steps.
//!
//! The HTTP/2 library reads and writes frame by frame, and clients often send and ask for frames of 16 KiB: a large
//! tensor would be hundreds of system calls. Here what arrives is read ahead as far as it is there, and what is written
//! is gathered: a flush does nothing, [`drive`] writes when the library has nothing more to do for now.

use std::future::Future;
use std::io;
use std::ops::{Range, RangeInclusive};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What is gathered at most. As much as the kernel passes on in one piece.
const GATHERED_MAX: usize = 64 * 1024;
/// What is read ahead by a connection that sends little, and by one that sends much.
const AHEAD: RangeInclusive<usize> = 4 * 1024..=128 * 1024;

/// The socket, what it has brought, and what waits for it.
#[derive(Debug)]
struct Buffered {
    socket: TcpStream,
    ahead: Vec<u8>,
    /// The part of `ahead` that nobody has taken yet.
    unread: Range<usize>,
    gathered: Vec<u8>,
    /// Bytes of `gathered` that are written.
    written: usize,
}

impl Buffered {
    /// Reads ahead. As far as last time, or twice as far if that was all there; less again when little comes.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut buffer = ReadBuf::new(&mut self.ahead);
        ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buffer))?;
        let count = buffer.filled().len();
        self.unread = 0..count;
        let size = self.ahead.len();
        if count == size && size < *AHEAD.end() {
            self.ahead.resize(size * 2, 0);
        } else if count < size / 4 && size > *AHEAD.start() {
            self.ahead.truncate((size / 2).max(*AHEAD.start()));
            self.ahead.shrink_to_fit();
        }
        Poll::Ready(Ok(()))
    }

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
pub(super) struct Transport(Arc<Mutex<Buffered>>);

impl Transport {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(Mutex::new(Buffered {
            socket: stream,
            ahead: vec![0; *AHEAD.start()],
            unread: 0..0,
            gathered: Vec::new(),
            written: 0,
        })))
    }

    /// Never contended: only the connection's task comes here.
    fn lock(&self) -> MutexGuard<'_, Buffered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut this = self.lock();
        if this.unread.is_empty() {
            ready!(this.poll_fill(cx))?;
        }
        let start = this.unread.start;
        let count = this.unread.len().min(buffer.remaining());
        buffer.put_slice(&this.ahead[start..start + count]);
        this.unread.start += count;
        Poll::Ready(Ok(()))
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
        let mut this = self.lock();
        if this.room() == 0 {
            ready!(this.poll_drain(cx))?;
        }
        Poll::Ready(Ok(slices.iter().map(|slice| this.gather(slice)).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Flushed by [`drive`].
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.lock();
        ready!(this.poll_drain(cx))?;
        Pin::new(&mut this.socket).poll_shutdown(cx)
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
