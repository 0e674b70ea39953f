use super::*;
use proptest::prelude::*;

fn numbered(length: usize) -> Bytes {
    (0..length).map(|index| u8::try_from(index % 251).unwrap()).collect()
}

fn rope(pieces: impl IntoIterator<Item = Bytes>) -> Rope {
    let mut rope = Rope::default();
    pieces.into_iter().for_each(|piece| rope.push(piece));
    rope.seal();
    rope
}

#[test]
fn a_range_within_one_piece_is_not_copied() {
    let (head, tail) = (numbered(10), numbered(10_000));
    let rope = rope([head.clone(), tail.clone()]);
    assert_eq!(rope.len(), 10_010);
    assert_eq!(rope.slice(10..10_010).as_ptr(), tail.as_ptr());
    assert_eq!(rope.slice(2..5), head.slice(2..5));
    assert_eq!(rope.slice(8..12), [8, 9, 0, 1][..]);
    assert_eq!(rope.slice(10_008..20_000).len(), 2);
    assert!(rope.slice(20_000..30_000).is_empty());
}

#[test]
fn a_range_over_several_pieces_stays_in_pieces() {
    let parts = [numbered(5000), numbered(6000)];
    let data = rope(parts.clone()).pieces(4000..7000);
    assert_eq!((data.len(), data.pieces().count()), (3000, 2));
    assert_eq!(data.pieces().next().unwrap().as_ptr(), parts[0][4000..].as_ptr());
}

#[test]
fn small_pieces_are_joined() {
    let rope = rope(numbered(100_000).chunks(1).map(Bytes::copy_from_slice));
    assert!(rope.pieces.len() <= 2);
    assert_eq!(rope.slice(0..100_000), numbered(100_000));
}

proptest! {
    #[test]
    fn pieces_of_any_size_are_the_same_bytes(
        sizes in prop::collection::vec(1_usize..9000, 1..8), start in 0_usize..40_000, length in 0_usize..40_000
    ) {
        let total: usize = sizes.iter().sum();
        let all = numbered(total);
        let mut at = 0;
        let make = || rope(sizes.iter().map(|size| {
            at += size;
            all.slice(at - size..at)
        }));
        let mut make = make;
        let rope = make();
        let (from, to) = (start.min(total), (start + length).min(total));
        prop_assert_eq!(rope.slice(start..start + length), all.slice(from..to));
        let mut reader = rope.into_reader();
        reader.advance(from);
        prop_assert!(reader.cut(total - from + 1).is_none());
        prop_assert_eq!(joined(&reader.cut(to - from).unwrap()), all.slice(from..to));
        let rest = reader.copy_to_bytes(reader.remaining());
        prop_assert_eq!(rest, all.slice(to..));
    }
}
