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
