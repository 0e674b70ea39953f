//! Lies about where tensors lie, and harm done to the memory itself.

use super::sealed;
use nereid_ipc::{
    DataType,
    arena::{Access, ArenaError, OutputReader, Segment},
    descriptor::Fault,
    elements,
    sys::memfd,
};
use nereid_proto::worker::Tensor;
use nix::{
    errno::Errno,
    fcntl::{FallocateFlags, FcntlArg, SealFlag, fallocate, fcntl},
    unistd::ftruncate,
};
use std::{
    os::fd::OwnedFd,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// A reader with one segment of 1 MiB, and the worker's mapping of it.
fn output() -> (OutputReader, Segment, OwnedFd) {
    let mut reader = OutputReader::new(4 << 20);
    let new = reader.new_segment(1).unwrap();
    let theirs = Segment::open(new.fd.try_clone().unwrap(), new.length, Access::Write).unwrap();
    (reader, theirs, new.fd)
}

fn tensor(offset: u64, length: u64) -> Tensor {
    let shape = vec![i64::try_from(length).unwrap_or(i64::MAX)];
    Tensor { data_type: DataType::Uint8.number(), shape, segment: 1, offset, length, ..Default::default() }
}

#[test]
fn lies_in_descriptors_are_found() {
    const END: u64 = 1 << 20;
    let (reader, _theirs, _fd) = output();
    let fault = |tensor: Tensor| reader.view(&tensor).unwrap_err().fault;
    for (offset, length) in
        [(END, 1), (END - 1, 2), (0, END + 1), (u64::MAX, 1), (u64::MAX - 5, 10), (1 << 63, 1)]
    {
        assert_eq!(fault(tensor(offset, length)), Fault::OutOfBounds { offset, length, segment: END });
    }
    assert!(matches!(fault(Tensor { shape: vec![11], ..tensor(0, 10) }), Fault::Length { .. }));
    assert!(matches!(fault(Tensor { shape: vec![i64::MAX, 3], ..tensor(0, 10) }), Fault::Shape(_)));
    assert!(matches!(fault(Tensor { shape: vec![-10], ..tensor(0, 10) }), Fault::Shape(_)));
    assert!(matches!(fault(Tensor { data_type: 99, ..tensor(0, 10) }), Fault::DataType(99)));
    let fp64 = DataType::Fp64.number();
    assert!(matches!(fault(Tensor { data_type: fp64, ..tensor(0, 10) }), Fault::Length { expected: 80, .. }));
    assert_eq!(fault(Tensor { segment: 2, ..tensor(0, 10) }), Fault::UnknownSegment(2));
    assert!(reader.view(&tensor(END - 10, 10)).is_ok());
}

#[test]
fn a_segment_that_was_given_up_is_unknown() {
    let (mut reader, _theirs, _fd) = output();
    assert_eq!(reader.trim(), [1]);
    assert_eq!(reader.view(&tensor(0, 1)).unwrap_err().fault, Fault::UnknownSegment(1));
    // Its number does not come back for another one.
    assert_eq!(reader.new_segment(1).unwrap().id, 2);
}

#[test]
fn a_worker_cannot_cut_the_memory_or_loosen_its_seals() {
    let (reader, theirs, fd) = output();
    theirs.write(0, b"still here").unwrap();
    for length in [0, 4096, 1 << 21] {
        assert_eq!(ftruncate(&fd, length), Err(Errno::EPERM));
    }
    for seals in [SealFlag::F_SEAL_WRITE, SealFlag::F_SEAL_FUTURE_WRITE] {
        assert_eq!(fcntl(&fd, FcntlArg::F_ADD_SEALS(seals)), Err(Errno::EPERM));
    }
    assert_eq!(reader.view(&tensor(0, 10)).unwrap().as_slice(), b"still here");
    // Pages can be thrown away; that is only another way to write zeros.
    let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    fallocate(&fd, hole, 0, 1 << 20).unwrap();
    assert_eq!(reader.view(&tensor(0, 1 << 20)).unwrap().copy(), vec![0; 1 << 20]);
}

#[test]
fn bytes_that_change_while_they_are_read_are_parsed_from_a_copy() {
    const LENGTH: usize = 64;
    let (reader, theirs, _fd) = output();
    let data_type = DataType::Bytes.number();
    let view = reader.view(&Tensor { data_type, shape: vec![8], ..tensor(0, LENGTH as u64) }).unwrap();
    let mut honest = Vec::new();
    (0..8_u8).for_each(|byte| elements::push(&mut honest, &[byte; 4]).unwrap());
    let lie = [0xff; LENGTH];
    theirs.write(0, &honest).unwrap();

    let stop = AtomicBool::new(false);
    let (mut good, mut bad) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                theirs.write(0, &lie).unwrap();
                theirs.write(0, &honest).unwrap();
            }
        });
        for _ in 0..200_000 {
            let copy = view.copy();
            match elements::check(&copy, 8) {
                // What was checked is what is used, whatever the peer has written since.
                Ok(()) => {
                    assert_eq!(elements::elements(&copy).filter(Result::is_ok).count(), 8);
                    good += 1;
                }
                Err(_) => bad += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(good + bad, 200_000);
}

#[test]
fn memory_from_a_peer_is_only_mapped_if_it_cannot_shrink() {
    let contents = [1; 4096];
    let seals = [SealFlag::empty(), SealFlag::F_SEAL_GROW, SealFlag::F_SEAL_SHRINK, SealFlag::F_SEAL_WRITE];
    for seals in seals {
        let opened = Segment::open(sealed(&contents, seals), 4096, Access::Read);
        assert!(matches!(opened, Err(ArenaError::Seals)), "{seals:?}");
    }
    assert!(Segment::open(sealed(&contents, memfd::SEGMENT_SEALS), 4096, Access::Read).is_ok());
    let short = Segment::open(sealed(&contents, memfd::SEGMENT_SEALS), 1 << 30, Access::Read);
    assert!(matches!(short, Err(ArenaError::WrongSize { told: 0x4000_0000, actual: 4096 })));
}
