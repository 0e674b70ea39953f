use super::*;
use crate::frontend::fake::{Fake, ROOM};

#[test]
fn room_follows_the_bytes_and_not_the_announcement() {
    let fake = Fake::new();
    let mut room = Room::default();
    room.grow_to(&*fake, 1, Some(ROOM)).unwrap();
    assert_eq!(fake.inflight(), STEP_MIN);
    for bytes in (0..=ROOM).step_by(4096) {
        room.grow_to(&*fake, bytes, Some(ROOM)).unwrap();
        assert!((bytes..=(2 * bytes).max(STEP_MIN)).contains(&fake.inflight()), "{bytes}");
    }
    assert!(room.shares.len() < 10);
    let share = room.into_share(&*fake, ROOM).unwrap();
    assert_eq!(fake.inflight(), ROOM);
    drop(share);
    assert_eq!(fake.inflight(), 0);
}

#[test]
fn what_cannot_fit_is_known_before_it_comes() {
    let fake = Fake::new();
    assert!(Room::check(&*fake, ROOM + 1).is_err());
    Room::check(&*fake, ROOM).unwrap();
    assert_eq!(fake.inflight(), 0);
}

#[test]
fn room_of_unknown_length_shrinks_to_what_came() {
    let fake = Fake::new();
    let mut room = Room::default();
    room.grow_to(&*fake, 1000, None).unwrap();
    let _share = room.into_share(&*fake, 1000).unwrap();
    assert_eq!(fake.inflight(), 1000);
}
