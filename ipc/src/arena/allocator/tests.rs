use super::{super::ALIGNMENT, Allocator, NotAllocated, Run};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    Allocate(u64),
    Free(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => prop_oneof![0..200_u64, 0..3000_u64].prop_map(Op::Allocate),
        2 => any::<usize>().prop_map(Op::Free),
    ];
    prop::collection::vec(op, 0..80)
}

fn twin(run: &Run) -> Run {
    Run { offset: run.offset, length: run.length }
}

/// The rules that the list of free runs keeps.
fn assert_orderly(allocator: &Allocator) {
    for pair in allocator.free.windows(2) {
        assert!(pair[0].end() < pair[1].offset, "unordered, overlapping or adjacent: {:?}", allocator.free);
    }
    assert!(allocator.free.iter().all(|run| run.length > 0 && run.end() <= allocator.capacity));
    let free: u64 = allocator.free.iter().map(Run::length).sum();
    assert_eq!(free + allocator.used, allocator.capacity, "bytes were lost or made");
}

proptest! {
    #[test]
    fn runs_never_overlap_nothing_leaks_and_nothing_returns_twice(ops in ops(), capacity in 0..8192_u64) {
        let mut allocator = Allocator::new(capacity);
        let mut live: Vec<Run> = Vec::new();
        for op in ops {
            match op {
                Op::Allocate(length) => {
                    let largest = allocator.free.iter().map(Run::length).max().unwrap_or(0);
                    let Some(run) = allocator.allocate(length) else {
                        prop_assert!(largest < length.max(1).next_multiple_of(ALIGNMENT), "refused for no reason");
                        continue;
                    };
                    prop_assert!(run.offset % ALIGNMENT == 0 && run.length >= length.max(1));
                    prop_assert!(run.end() <= capacity);
                    prop_assert!(live.iter().all(|other| run.end() <= other.offset || other.end() <= run.offset));
                    live.push(run);
                }
                Op::Free(index) if !live.is_empty() => {
                    let run = live.swap_remove(index % live.len());
                    let again = twin(&run);
                    prop_assert_eq!(allocator.free(run), Ok(()));
                    prop_assert_eq!(allocator.free(again), Err(NotAllocated));
                }
                Op::Free(_) => {}
            }
            assert_orderly(&allocator);
            prop_assert_eq!(allocator.used(), live.iter().map(Run::length).sum::<u64>());
        }
        for run in live.drain(..) {
            prop_assert_eq!(allocator.free(run), Ok(()));
        }
        let whole = capacity / ALIGNMENT * ALIGNMENT;
        prop_assert_eq!(allocator.used(), 0);
        if whole > 0 {
            prop_assert_eq!(allocator.allocate(whole), Some(Run { offset: 0, length: whole }));
        }
    }
}

#[test]
fn a_run_that_was_never_given_out_is_refused() {
    let mut allocator = Allocator::new(1024);
    let run = allocator.allocate(128).unwrap();
    for (offset, length) in [(1024, 64), (960, 128), (128, 64), (64, 128), (u64::MAX - 127, 64)] {
        assert_eq!(allocator.free(Run { offset, length }), Err(NotAllocated), "{length} at {offset}");
    }
    assert_eq!(allocator.free(run), Ok(()));
}

#[test]
fn the_lowest_free_run_is_used_first() {
    let mut allocator = Allocator::new(1024);
    let first = allocator.allocate(64).unwrap();
    let _second = allocator.allocate(64).unwrap();
    allocator.free(first).unwrap();
    assert_eq!(allocator.allocate(64).unwrap().offset(), 0);
}

#[test]
fn a_length_without_end_is_refused() {
    assert_eq!(Allocator::new(1024).allocate(u64::MAX), None);
}
