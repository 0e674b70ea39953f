use super::{super::ArenaError, super::OutputArena, Fault, OutputReader};
use crate::datatype::DataType;
use nereid_proto::worker::Tensor;
use std::sync::mpsc::sync_channel;

const MIB: u64 = 1024 * 1024;

fn pair() -> (OutputReader, OutputArena) {
    let mut reader = OutputReader::new(8 * MIB);
    let arena = OutputArena::new();
    let new = reader.new_segment(1).unwrap();
    arena.add_segment(new.id, new.fd, new.length).unwrap();
    (reader, arena)
}

fn answer(arena: &OutputArena, bytes: &[u8]) -> Tensor {
    let mut lease = arena.lease(bytes.len() as u64).unwrap();
    lease.as_mut_slice().copy_from_slice(bytes);
    Tensor {
        name: "y".to_owned(),
        data_type: DataType::Uint8.number(),
        shape: vec![1, i64::try_from(bytes.len()).unwrap()],
        segment: lease.segment(),
        offset: lease.offset(),
        length: lease.len() as u64,
        slot: lease.commit(),
    }
}

#[test]
fn what_the_worker_wrote_is_seen_in_place() {
    let (reader, arena) = pair();
    let view = reader.view(&answer(&arena, b"result")).unwrap();
    assert_eq!((view.as_slice(), view.len(), view.copy()), (&b"result"[..], 6, b"result".to_vec()));
    assert_eq!(
        (view.name.as_str(), view.datatype, view.shape.as_slice()),
        ("y", DataType::Uint8, &[1, 6][..])
    );
    assert_eq!(view.slot, 1);
}

#[test]
fn bytes_for_the_network_are_not_copied_and_say_when_they_are_done_with() {
    struct Guard(std::sync::mpsc::SyncSender<u64>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.send(1).unwrap();
        }
    }
    let (reader, arena) = pair();
    let view = reader.view(&answer(&arena, b"result")).unwrap();
    let place = view.as_slice().as_ptr();
    let (done, released) = sync_channel(1);
    let bytes = view.into_bytes(Guard(done));
    assert_eq!((&bytes[..], bytes.as_ptr()), (&b"result"[..], place));
    let part = bytes.slice(2..);
    drop(bytes);
    assert!(released.try_recv().is_err(), "released while a slice was held");
    // The memory outlives the reader, as it must when a worker dies while a client still reads.
    drop((reader, arena));
    assert_eq!(&part[..], b"sult");
    drop(part);
    assert_eq!(released.try_recv(), Ok(1));
}

#[test]
fn an_empty_answer_has_no_bytes() {
    let (reader, arena) = pair();
    let view = reader.take(answer(&arena, b"")).unwrap();
    assert!(view.is_empty());
    assert!(view.into_bytes(()).is_empty());
}

#[test]
fn an_unknown_segment_is_refused() {
    let (reader, arena) = pair();
    for segment in [0, 2, u32::MAX] {
        let tensor = Tensor { segment, ..answer(&arena, b"x") };
        assert_eq!(reader.view(&tensor).unwrap_err().fault, Fault::UnknownSegment(segment));
    }
}

#[test]
fn the_limit_bounds_what_a_worker_can_make_us_map() {
    let (mut reader, _arena) = pair();
    while reader.new_segment(MIB).is_ok() {}
    assert_eq!((reader.mapped_bytes(), reader.limit_bytes()), (8 * MIB, 8 * MIB));
    let refused = reader.new_segment(u64::MAX);
    assert!(matches!(refused, Err(ArenaError::LimitReached { needed: u64::MAX, .. })));
}

#[test]
fn trimming_keeps_segments_that_a_view_holds() {
    let (mut reader, arena) = pair();
    let view = reader.view(&answer(&arena, b"kept")).unwrap();
    reader.new_segment(MIB).unwrap();
    assert_eq!(reader.trim(), [2]);
    assert_eq!(reader.mapped_bytes(), MIB);
    drop(view);
    assert_eq!(reader.trim(), [1]);
    assert_eq!(reader.new_segment(1).unwrap().id, 3);
}
