use super::*;
use crate::frontend::fake::{Fake, ROOM};
use http_body_util::BodyExt;
use std::convert::Infallible;
use std::io::Write;

/// A body that comes in these pieces.
struct Pieces(VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}

fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[flag][..], &length.to_be_bytes(), message].concat()
}

async fn received(
    fake: &Arc<Fake>,
    bytes: &[u8],
    piece: usize,
    packing: Option<Packing>,
) -> Result<Vec<u8>, Status> {
    let pieces = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
    let receiving = Receiving::new(Arc::clone(fake), Pieces(pieces), packing);
    receiving.collect().await.map(|all| all.to_bytes().to_vec())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn plain_messages_pass_however_they_are_cut() {
    let all = [framed(0, b"first"), framed(0, b""), framed(0, &[7; 100_000])].concat();
    for piece in [1, 3, 5, 6, 4096, all.len()] {
        let fake = Fake::new();
        assert_eq!(received(&fake, &all, piece, None).await.unwrap(), all, "{piece}");
        assert_eq!(fake.inflight(), 0);
    }
}

#[tokio::test]
async fn packed_messages_are_unpacked_however_they_are_cut() {
    let text = vec![b'a'; 300_000];
    let all = [framed(1, &gzip(&text)), framed(0, b"plain"), framed(1, &gzip(b""))].concat();
    let expected = [framed(0, &text), framed(0, b"plain"), framed(0, b"")].concat();
    for piece in [1, 7, all.len()] {
        let fake = Fake::new();
        let back = received(&fake, &all, piece, Some(Packing::Gzip)).await.unwrap();
        assert!(back == expected, "{piece}");
        assert_eq!(fake.inflight(), 0);
    }
}

#[tokio::test]
async fn a_message_without_room_is_refused_before_it_arrives() {
    let length = u32::try_from(ROOM + 1).unwrap();
    let head = [&[0][..], &length.to_be_bytes()].concat();
    let status = received(&Fake::new(), &head, 5, None).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unavailable);
    let status = received(&Fake::new(), &[0, 255, 255, 255, 255], 5, None).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::ResourceExhausted);
}

#[tokio::test]
async fn a_bomb_is_refused_when_there_is_no_more_room() {
    let fake = Fake::new();
    let bomb = gzip(&vec![0; usize::try_from(ROOM).unwrap() * 2]);
    let status = received(&fake, &framed(1, &bomb), 1000, Some(Packing::Gzip)).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unavailable);
    assert_eq!(fake.inflight(), 0);
}

#[tokio::test]
async fn what_is_not_packed_is_an_error() {
    let status = received(&Fake::new(), &framed(1, b"junk"), 100, Some(Packing::Deflate)).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Internal);
}

/// A body that stops after its first piece.
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

#[tokio::test(start_paused = true)]
async fn an_announced_message_takes_no_room_and_is_not_waited_for_for_ever() {
    let length = u32::try_from(ROOM).unwrap();
    for flag in [0, 1] {
        let fake = Fake::new();
        let head = [&[flag][..], &length.to_be_bytes(), &[0; 1000]].concat();
        let body = Receiving::new(Arc::clone(&fake), Silent(Some(head.into())), Some(Packing::Gzip));
        let mut collected = Box::pin(body.collect());
        assert!(tokio::time::timeout(PAUSE_MAX / 2, collected.as_mut()).await.is_err());
        assert!((1000..ROOM / 100).contains(&fake.inflight()), "{}", fake.inflight());
        assert_eq!(collected.as_mut().await.unwrap_err().code(), tonic::Code::DeadlineExceeded);
        drop(collected);
        assert_eq!(fake.inflight(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_may_rest_between_messages() {
    let body = Receiving::new(Fake::new(), Silent(Some(framed(0, b"whole").into())), None);
    assert!(tokio::time::timeout(PAUSE_MAX * 10, body.collect()).await.is_err());
}

#[tokio::test]
async fn what_grows_large_is_unpacked_off_the_runtime_and_in_order() {
    let fake = Fake::new();
    let (large, small) = (gzip(&vec![7; 1 << 20]), gzip(b"small"));
    let inflating = |packed: &[u8]| inflate(&fake, Packing::Gzip, Bytes::copy_from_slice(packed));
    assert!(matches!(inflating(&small), Inflating::Done(Ok(_))));
    let Inflating::Running(task) = inflating(&large) else { panic!() };
    drop(task.await.unwrap().unwrap());
    let both = [framed(1, &large), framed(1, &small)].concat();
    let body = Receiving::new(Arc::clone(&fake), Pieces(VecDeque::from([both.into()])), Some(Packing::Gzip));
    let all = body.collect().await.unwrap().to_bytes();
    assert!(all == [framed(0, &[7; 1 << 20]), framed(0, b"small")].concat());
    assert_eq!(fake.inflight(), 0);
}
