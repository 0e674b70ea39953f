use super::{super::error::ArenaError, Access, MAX_SEGMENT, Segment};
use crate::sys::memfd;
use nix::{errno::Errno, fcntl::OFlag, unistd::ftruncate};
use proptest::prelude::*;
use std::{fs::File, os::fd::OwnedFd};

#[test]
fn both_mappings_show_the_same_bytes() {
    let (ours, fd) = Segment::create(4096, Access::Read).unwrap();
    let theirs = Segment::open(fd, 4096, Access::Write).unwrap();
    theirs.write(100, b"tensor").unwrap();
    assert_eq!(ours.bytes(100, 6).unwrap(), b"tensor");
    assert_eq!(ours.copy_out(98, 8).unwrap(), b"\0\0tensor");
    let mut target = [0; 6];
    ours.copy_into(100, &mut target).unwrap();
    assert_eq!(&target, b"tensor");
}

#[test]
fn a_mapping_for_reading_cannot_be_written() {
    let (segment, _fd) = Segment::create(4096, Access::Read).unwrap();
    assert!(matches!(segment.write(0, b"x"), Err(ArenaError::ReadOnly)));
}

#[test]
fn a_mapping_for_writing_gives_out_no_slices() {
    let (segment, _fd) = Segment::create(4096, Access::Write).unwrap();
    assert!(matches!(segment.bytes(0, 1), Err(ArenaError::Writable)));
}

#[test]
fn the_other_side_cannot_change_the_size() {
    let (segment, fd) = Segment::create(4096, Access::Read).unwrap();
    assert_eq!(ftruncate(&fd, 0), Err(Errno::EPERM));
    assert_eq!(ftruncate(&fd, 8192), Err(Errno::EPERM));
    assert_eq!(segment.copy_out(0, 4096).unwrap().len(), 4096);
}

#[test]
fn an_fd_that_could_shrink_is_refused() {
    let file = tempfile_like(4096);
    assert!(matches!(Segment::open(file, 4096, Access::Write), Err(ArenaError::Seals)));
}

/// A memfd without seals.
fn tempfile_like(length: i64) -> OwnedFd {
    let flags = nix::sys::memfd::MFdFlags::MFD_ALLOW_SEALING;
    let fd = nix::sys::memfd::memfd_create(c"unsealed", flags).unwrap();
    ftruncate(&fd, length).unwrap();
    fd
}

#[test]
fn an_fd_that_is_no_memory_is_refused() {
    let (pipe, _other) = nix::unistd::pipe2(OFlag::O_CLOEXEC).unwrap();
    assert!(matches!(Segment::open(pipe, 4096, Access::Read), Err(ArenaError::Seals)));
    let null = File::open("/dev/null").unwrap();
    assert!(matches!(Segment::open(null.into(), 4096, Access::Read), Err(ArenaError::Seals)));
}

#[test]
fn a_length_other_than_the_real_one_is_refused() {
    for told in [1, 4095, 4097, 1 << 39] {
        let fd = memfd::segment(c"test", 4096).unwrap();
        let opened = Segment::open(fd, told, Access::Read);
        assert!(matches!(opened, Err(ArenaError::WrongSize { actual: 4096, .. })), "{told}");
    }
}

#[test]
fn impossible_sizes_are_refused() {
    for length in [0, MAX_SEGMENT + 1, u64::MAX] {
        assert!(matches!(Segment::create(length, Access::Read), Err(ArenaError::Size(_))), "{length}");
    }
}

#[test]
fn the_last_byte_is_inside_and_the_next_is_not() {
    let (segment, fd) = Segment::create(200, Access::Write).unwrap();
    let reader = Segment::open(fd, 200, Access::Read).unwrap();
    for (offset, length, inside) in [(0, 200, true), (199, 1, true), (200, 0, true)].into_iter().chain([
        (0, 201, false),
        (1, 200, false),
        (200, 1, false),
        (201, 0, false),
        (u64::MAX, 2, false),
    ]) {
        assert_eq!(reader.bytes(offset, length).is_ok(), inside, "{length} bytes at {offset}");
        assert_eq!(segment.copy_out(offset, length).is_ok(), inside, "{length} bytes at {offset}");
        let bytes = vec![1; usize::try_from(length).unwrap()];
        assert_eq!(segment.write(offset, &bytes).is_ok(), inside, "{length} bytes at {offset}");
    }
}

proptest! {
    #[test]
    fn no_access_leaves_the_segment(
        offset in prop_oneof![0..300_u64, any::<u64>()],
        length in prop_oneof![0..300_usize, 4000..5000_usize],
    ) {
        let (segment, fd) = Segment::create(200, Access::Write).unwrap();
        let reader = Segment::open(fd, 200, Access::Read).unwrap();
        let inside = u128::from(offset) + length as u128 <= 200;
        let mut bytes = vec![7; length];
        prop_assert_eq!(segment.write(offset, &bytes).is_ok(), inside);
        prop_assert_eq!(segment.copy_into(offset, &mut bytes).is_ok(), inside);
        prop_assert_eq!(segment.copy_out(offset, length as u64).is_ok(), inside);
        prop_assert_eq!(reader.bytes(offset, length as u64).is_ok(), inside);
    }
}
