use super::*;
use crate::frontend::fake::{Fake, ROOM};
use http_body_util::{Full, StreamBody};

/// A body of these pieces.
fn pieces(pieces: Vec<Bytes>) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
    let mut pieces = VecDeque::from(pieces);
    StreamBody::new(Pieces(std::iter::from_fn(move || pieces.pop_front())))
}

struct Pieces<I>(I);

impl<I: Iterator<Item = Bytes> + Unpin> tonic::codegen::tokio_stream::Stream for Pieces<I> {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }
}

/// A body that stops after its first piece, if it has one.
struct Silent(Option<Bytes>);

impl Body for Silent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(Frame::data(piece)))))
    }
}

fn numbered(length: usize) -> Bytes {
    (0..length).map(|index| u8::try_from(index % 251).unwrap()).collect()
}

#[tokio::test]
async fn pieces_of_any_size_are_the_same_body() {
    let all = numbered(30_000);
    for size in [1, 7, 4096, 4097, 10_000] {
        let parts = all.chunks(size).map(Bytes::copy_from_slice).collect();
        let Read::Kept(received) = read(&*Fake::new(), pieces(parts), None, 1 << 20).await.unwrap() else {
            panic!()
        };
        assert_eq!(received.rope.slice(0..received.rope.len()), all, "{size}");
    }
}

#[tokio::test]
async fn what_is_too_large_is_thrown_away_and_counted() {
    let fake = Fake::new();
    let parts = vec![numbered(10_000); 10];
    let Read::Dropped(100_000) = read(&*fake, pieces(parts), None, 50_000).await.unwrap() else { panic!() };
    let whole = Full::new(numbered(100_000));
    let Read::Dropped(100_000) = read(&*fake, whole, Some(100_000), 50_000).await.unwrap() else { panic!() };
    assert_eq!(fake.inflight(), 0);
}

#[tokio::test]
async fn too_many_small_chunks_end_the_connection() {
    let chunks = |count| pieces(vec![Bytes::from_static(b"x"); count]);
    let max = usize::try_from(SMALL_CHUNKS_MAX).unwrap();
    assert!(read(&*Fake::new(), chunks(max), None, 1 << 20).await.is_ok());
    let Err(ReadError::Refused(error)) = read(&*Fake::new(), chunks(max + 1), None, 1 << 20).await else {
        panic!()
    };
    assert_eq!(
        error.message,
        "Chunked request body exceeds maximum of 65536 non-empty chunks. Send fewer or larger HTTP chunks."
    );
}

#[tokio::test]
async fn a_length_beyond_32_bits_is_refused_at_once() {
    let body = Full::new(Bytes::new());
    let Err(ReadError::Refused(error)) = read(&*Fake::new(), body, Some(2_147_483_648), u64::MAX).await
    else {
        panic!()
    };
    assert_eq!(
        error.message,
        "Unable to parse Content-Length, value is out of range [ -2147483648, 2147483647 ], got: 2147483648"
    );
}

#[tokio::test]
async fn room_is_taken_while_a_body_is_kept_and_given_back() {
    let fake = Fake::new();
    let Read::Kept(received) = read(&*fake, Full::new(numbered(1000)), Some(1000), 1 << 20).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(fake.inflight(), 1000);
    drop(received);
    assert_eq!(fake.inflight(), 0);
}

#[tokio::test]
async fn a_body_without_room_is_refused_after_it_was_read() {
    let fake = Fake::new();
    let part = numbered(1 << 20);
    let parts = vec![part; usize::try_from(ROOM >> 20).unwrap() + 1];
    let length = parts.iter().map(|part| part.len() as u64).sum();
    for length in [Some(length), None] {
        let Err(ReadError::Refused(error)) = read(&*fake, pieces(parts.clone()), length, u64::MAX).await
        else {
            panic!()
        };
        assert!(error.message.contains("bytes in flight"), "{}", error.message);
        assert_eq!(fake.inflight(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_pauses_too_long_is_not_waited_for() {
    assert!(matches!(read(&*Fake::new(), Silent(None), Some(5), 10).await, Err(ReadError::Slow)));
}

#[tokio::test(start_paused = true)]
async fn an_announced_body_takes_no_room_before_it_comes() {
    let fake = Fake::new();
    let arriving = read(&*fake, Silent(Some(numbered(1000))), Some(ROOM), u64::MAX);
    tokio::pin!(arriving);
    let waiting = tokio::time::timeout(Duration::from_secs(1), arriving.as_mut()).await;
    assert!(waiting.is_err());
    assert!((1000..ROOM / 100).contains(&fake.inflight()), "{}", fake.inflight());
    assert!(matches!(arriving.await, Err(ReadError::Slow)));
    assert_eq!(fake.inflight(), 0);
}

#[tokio::test]
async fn a_reply_is_its_pieces_in_order_and_knows_its_length() {
    let rest = VecDeque::from([Bytes::new(), Bytes::from_static(b"bc"), Bytes::from_static(b"d")]);
    let body = ReplyBody::new(Bytes::from_static(b"a"), rest);
    assert_eq!(body.size_hint().exact(), Some(4));
    assert_eq!(body.collect().await.unwrap().to_bytes(), "abcd");
    assert!(ReplyBody::default().is_end_stream());
}
