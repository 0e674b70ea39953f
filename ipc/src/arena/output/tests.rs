use super::{
    super::{ALIGNMENT, ArenaError, OutputReader, Short},
    OutputArena,
};

const MIB: u64 = 1024 * 1024;

/// An arena with one segment, whose fd came from a reader.
fn arena(needed: u64) -> (OutputReader, OutputArena) {
    let mut reader = OutputReader::new(64 * MIB);
    let arena = OutputArena::new();
    let new = reader.new_segment(needed).unwrap();
    arena.add_segment(new.id, new.fd, new.length).unwrap();
    (reader, arena)
}

#[test]
fn without_a_segment_the_arena_is_short() {
    assert_eq!(OutputArena::new().lease(10).unwrap_err(), Short { length: 10 });
}

#[test]
fn a_committed_slot_stays_taken_until_it_is_released() {
    let (_reader, arena) = arena(1);
    let slot = arena.lease(MIB).unwrap().commit();
    assert_eq!((arena.used_bytes(), arena.lent_slots()), (MIB, 1));
    assert!(arena.lease(1).is_err());
    arena.release(slot).unwrap();
    assert_eq!((arena.used_bytes(), arena.lent_slots()), (0, 0));
    assert!(matches!(arena.release(slot), Err(ArenaError::UnknownSlot(s)) if s == slot));
}

#[test]
fn a_lease_dropped_before_its_commit_returns_at_once() {
    let (_reader, arena) = arena(1);
    drop(arena.lease(MIB).unwrap());
    assert_eq!(arena.used_bytes(), 0);
}

#[test]
fn slots_count_up_and_leases_are_aligned() {
    let (_reader, arena) = arena(1);
    let leases: Vec<_> = (0..5).map(|length| arena.lease(length).unwrap()).collect();
    let slots: Vec<_> = leases.iter().map(|lease| lease.slot()).collect();
    assert_eq!(slots, [1, 2, 3, 4, 5]);
    assert!(leases.iter().all(|lease| lease.offset() % ALIGNMENT == 0));
}

#[test]
fn a_removed_segment_goes_when_its_last_slot_returns() {
    let (_reader, arena) = arena(1);
    let lease = arena.lease(10).unwrap();
    let slot = arena.lease(10).unwrap().commit();
    arena.remove_segment(1).unwrap();
    assert!(arena.lease(10).is_err(), "a removed segment was allocated from");
    assert!(matches!(arena.remove_segment(1), Err(ArenaError::UnknownSegment(1))));
    drop(lease);
    assert_eq!(arena.mapped_bytes(), MIB);
    arena.release(slot).unwrap();
    assert_eq!(arena.mapped_bytes(), 0);
}

#[test]
fn a_segment_cannot_be_added_twice() {
    let (mut reader, arena) = arena(1);
    let new = reader.new_segment(1).unwrap();
    assert!(matches!(arena.add_segment(1, new.fd, new.length), Err(ArenaError::DuplicateSegment(1))));
}

#[test]
fn another_segment_ends_the_shortage() {
    let (mut reader, arena) = arena(1);
    let short = arena.lease(3 * MIB).unwrap_err();
    let new = reader.new_segment(short.length).unwrap();
    arena.add_segment(new.id, new.fd, new.length).unwrap();
    let mut lease = arena.lease(3 * MIB).unwrap();
    assert_eq!(lease.segment(), 2);
    lease.as_mut_slice().fill(9);
    assert!(lease.as_slice().iter().all(|&byte| byte == 9));
}
