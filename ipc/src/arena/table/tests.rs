use super::{super::ArenaError, super::InputArena, super::Lease, Fault, InputTable};
use crate::datatype::DataType;
use nereid_proto::worker::Tensor;

const MIB: u64 = 1024 * 1024;

fn lease(length: u64) -> (InputTable, Lease) {
    let arena = InputArena::new(MIB);
    let (lease, new) = arena.lease(length).unwrap();
    let new = new.unwrap();
    let mut table = InputTable::new();
    table.add_segment(new.id, new.fd, new.length).unwrap();
    (table, lease)
}

fn rows(lease: &Lease, first: u64, count: u64) -> Tensor {
    Tensor {
        data_type: DataType::Uint8.number(),
        shape: vec![i64::try_from(count).unwrap()],
        segment: lease.segment(),
        offset: lease.offset() + first,
        length: count,
        ..Default::default()
    }
}

#[test]
fn adjacent_rows_are_one_tensor() {
    let (table, mut lease) = lease(6);
    lease.write_at(0, b"abcdef").unwrap();
    let view = |first, count| table.view(&rows(&lease, first, count)).unwrap();
    let joined = view(0, 1).joined([&view(1, 3), &view(4, 0), &view(4, 2)]).unwrap();
    assert_eq!((joined.as_slice(), joined.elements()), (&b"abcdef"[..], 6));
    assert_eq!(joined.ptr().cast_const(), joined.as_slice().as_ptr());
    assert!(view(0, 1).joined([&view(2, 1)]).is_none(), "a gap was joined");
    assert!(view(2, 1).joined([&view(1, 1)]).is_none(), "rows were joined in the wrong order");
}

#[test]
fn rows_of_another_type_are_not_joined() {
    let (table, lease) = lease(6);
    let first = table.view(&rows(&lease, 0, 1)).unwrap();
    let other = Tensor { data_type: DataType::Bool.number(), ..rows(&lease, 1, 1) };
    assert!(first.joined([&table.view(&other).unwrap()]).is_none());
}

#[test]
fn an_unknown_segment_is_refused() {
    let (table, lease) = lease(6);
    let tensor = Tensor { segment: 9, ..rows(&lease, 0, 1) };
    assert_eq!(table.view(&tensor).unwrap_err().fault, Fault::UnknownSegment(9));
}

#[test]
fn a_removed_segment_is_unknown_but_its_views_stay_valid() {
    let (mut table, mut lease) = lease(3);
    lease.write_at(0, b"abc").unwrap();
    let view = table.view(&rows(&lease, 0, 3)).unwrap();
    table.remove_segment(1).unwrap();
    assert!(table.view(&rows(&lease, 0, 3)).is_err());
    assert!(matches!(table.remove_segment(1), Err(ArenaError::UnknownSegment(1))));
    assert_eq!(table.mapped_bytes(), 0);
    assert_eq!(view.as_slice(), b"abc");
}

#[test]
fn a_segment_cannot_be_added_twice() {
    let (mut table, _lease) = lease(3);
    let (_, new) = InputArena::new(MIB).lease(1).unwrap();
    let new = new.unwrap();
    assert!(matches!(table.add_segment(new.id, new.fd, new.length), Err(ArenaError::DuplicateSegment(1))));
}
