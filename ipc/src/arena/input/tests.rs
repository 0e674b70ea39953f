use super::{
    super::{ALIGNMENT, ArenaError, InputTable, MIN_SEGMENT},
    InputArena,
};
use crate::datatype::DataType;
use nereid_proto::worker::Tensor;
use std::thread;

const MIB: u64 = 1024 * 1024;

#[test]
fn the_first_lease_makes_a_segment_and_the_next_does_not() {
    let arena = InputArena::new(4 * MIB);
    let (first, new) = arena.lease(100).unwrap();
    let new = new.unwrap();
    assert_eq!((new.id, new.length, first.segment()), (1, MIN_SEGMENT, 1));
    let (second, new) = arena.lease(100).unwrap();
    assert!(new.is_none());
    assert_eq!(second.offset(), 128);
    assert_eq!((arena.used_bytes(), arena.mapped_bytes()), (256, MIN_SEGMENT));
}

#[test]
fn what_is_written_is_what_the_worker_sees() {
    let arena = InputArena::new(MIB);
    let (mut lease, new) = arena.lease(8).unwrap();
    let new = new.unwrap();
    let mut table = InputTable::new();
    table.add_segment(new.id, new.fd, new.length).unwrap();
    lease.write_at(0, &1.5_f32.to_le_bytes()).unwrap();
    lease.as_mut_slice()[4..].copy_from_slice(&2.5_f32.to_le_bytes());
    let tensor = Tensor {
        data_type: DataType::Fp32.number(),
        shape: vec![2],
        segment: lease.segment(),
        offset: lease.offset(),
        length: lease.len() as u64,
        ..Default::default()
    };
    assert_eq!(table.view(&tensor).unwrap().as_slice(), lease.as_slice());
}

#[test]
fn a_lease_cannot_be_written_beyond_its_end() {
    let arena = InputArena::new(MIB);
    let (mut lease, _new) = arena.lease(10).unwrap();
    assert!(lease.write_at(8, &[1, 2]).is_ok());
    assert!(lease.write_at(9, &[1, 2]).is_err());
    assert!(lease.write_at(usize::MAX, &[1, 2]).is_err());
    assert!(lease.write_at(10, &[]).is_ok());
}

#[test]
fn an_empty_lease_has_a_place_of_its_own() {
    let arena = InputArena::new(MIB);
    let (empty, _new) = arena.lease(0).unwrap();
    let (other, _) = arena.lease(0).unwrap();
    assert!(empty.is_empty() && empty.as_slice().is_empty());
    assert_ne!(empty.offset(), other.offset());
}

#[test]
fn a_dropped_lease_is_given_out_again() {
    let arena = InputArena::new(MIB);
    let (lease, _new) = arena.lease(MIB).unwrap();
    assert!(matches!(arena.lease(1), Err(ArenaError::LimitReached { needed: 1, mapped: MIB, limit: MIB })));
    drop(lease);
    assert_eq!(arena.used_bytes(), 0);
    assert!(arena.lease(MIB).is_ok());
}

#[test]
fn the_limit_bounds_what_is_mapped() {
    let arena = InputArena::new(8 * MIB);
    let mut leases = Vec::new();
    while let Ok((lease, _)) = arena.lease(MIB / 2) {
        leases.push(lease);
    }
    assert_eq!(leases.len(), 16);
    assert_eq!((arena.mapped_bytes(), arena.limit_bytes()), (8 * MIB, 8 * MIB));
    assert!(matches!(arena.lease(u64::MAX), Err(ArenaError::LimitReached { .. })));
}

#[test]
fn trimming_gives_up_empty_segments_only_and_numbers_are_not_used_again() {
    let arena = InputArena::new(64 * MIB);
    let (kept, _) = arena.lease(MIB).unwrap();
    let (gone, _) = arena.lease(MIB).unwrap();
    assert_eq!((kept.segment(), gone.segment()), (1, 2));
    drop(gone);
    assert_eq!(arena.trim(), [2]);
    assert_eq!(arena.mapped_bytes(), MIB);
    let (next, new) = arena.lease(MIB).unwrap();
    assert_eq!((next.segment(), new.unwrap().id), (3, 3));
    drop((kept, next));
    assert_eq!(arena.trim(), [1, 3]);
    assert_eq!(arena.mapped_bytes(), 0);
}

#[test]
fn leases_of_several_threads_never_mix_and_all_return() {
    let arena = InputArena::new(64 * MIB);
    thread::scope(|scope| {
        for number in 1..=4_u8 {
            let arena = arena.clone();
            scope.spawn(move || {
                let mut held = Vec::new();
                for round in 0..500_usize {
                    let (mut lease, _) = arena.lease(1 + round as u64 * 7 % 5000).unwrap();
                    assert_eq!(lease.offset() % ALIGNMENT, 0);
                    lease.as_mut_slice().fill(number);
                    held.push(lease);
                    if held.len() > 8 {
                        let lease = held.swap_remove(round % 8);
                        assert!(lease.as_slice().iter().all(|&byte| byte == number));
                    }
                }
            });
        }
    });
    assert_eq!(arena.used_bytes(), 0);
}
