//! Which outputs are foreseen, and how shapes change between requests and model.

use super::{Plan, Size, reshape::Reshape};
use crate::testing::{config, session};
use proptest::prelude::*;

fn plan(model: &str, text: &str) -> Plan {
    Plan::new(&config(text), &session(model)).unwrap()
}

fn sizes(model: &str, text: &str) -> Vec<Option<Vec<Size>>> {
    plan(model, text).outputs.into_iter().map(|output| output.and_then(|output| output.sizes)).collect()
}

#[test]
fn fixed_sizes_and_the_batch_are_foreseen() {
    let rows = Some(vec![Size::Batch, Size::Fixed(16)]);
    assert_eq!(sizes("add_sub", "max_batch_size: 8"), [rows.clone(), rows]);
}

#[test]
fn sizes_with_the_same_symbol_are_foreseen_from_the_input() {
    let same = |dimension| Size::SameAs { input: 0, dimension };
    assert_eq!(sizes("identity_fp32", ""), [Some(vec![same(0), same(1)])]);
    assert_eq!(sizes("identity_fp32", "max_batch_size: 8"), [Some(vec![Size::Batch, same(1)])]);
}

#[test]
fn scalars_are_foreseen() {
    assert_eq!(sizes("total", ""), [Some(vec![])]);
}

#[test]
fn sizes_that_only_the_run_finds_are_not_foreseen() {
    assert_eq!(sizes("non_zero", ""), [None]);
}

#[test]
fn strings_and_sequences_are_not_foreseen() {
    assert_eq!(sizes("identity_string", "max_batch_size: 8"), [None]);
    assert!(plan("sequence", "").outputs[0].is_none());
}

#[test]
fn inputs_are_found_from_any_hint() {
    let plan = plan("add_sub", "max_batch_size: 8");
    for hint in 0..4 {
        assert_eq!(plan.find_input("INPUT0", hint).unwrap().0, 0);
        assert_eq!(plan.find_input("INPUT1", hint).unwrap().0, 1);
        assert!(plan.find_input("INPUT2", hint).is_none());
    }
}

#[test]
fn a_target_that_is_no_input_is_refused() {
    let text = "batch_input { kind: BATCH_ELEMENT_COUNT target_name: 'NONE' data_type: TYPE_FP32 source_input: 'INPUT0' }";
    let error = Plan::new(&config(text), &session("add_sub")).unwrap_err();
    assert!(error.message.contains("'NONE'"), "{error}");
}

fn reshaped(reshape: (&[i64], &[i64], bool), shape: &[i64]) -> Vec<i64> {
    let mut shape = shape.to_vec();
    Reshape::new(reshape.0.to_vec(), reshape.1.to_vec(), reshape.2).apply(&mut shape);
    shape
}

#[test]
fn open_sizes_keep_their_order() {
    assert_eq!(reshaped((&[2, 4, -1, 6], &[8, -1, 1, 6], false), &[2, 4, 3, 6]), [8, 3, 1, 6]);
    assert_eq!(reshaped((&[2, 4, -1, 6], &[8, -1, 1, 6], true), &[5, 2, 4, 3, 6]), [5, 8, 3, 1, 6]);
}

#[test]
fn a_scalar_within_a_batch_keeps_the_batch() {
    assert_eq!(reshaped((&[1], &[], true), &[5, 1]), [5]);
    assert_eq!(reshaped((&[], &[1], true), &[5]), [5, 1]);
}

#[test]
fn another_shape_stays() {
    assert_eq!(reshaped((&[2, 2], &[4], false), &[4]), [4]);
    assert_eq!(reshaped((&[2, 2], &[4], true), &[]), [0_i64; 0]);
}

/// Patterns that have the same elements: open sizes, with fixed ones in between that are written in two ways.
fn patterns() -> impl Strategy<Value = (Vec<i64>, Vec<i64>)> {
    let part = prop_oneof![
        Just((vec![-1], vec![-1])),
        (1..5_i64).prop_map(|n| (vec![n], vec![n, 1])),
        (1..5_i64, 1..5_i64).prop_map(|(n, m)| (vec![n, m], vec![n * m])),
        Just((vec![1], vec![])),
    ];
    prop::collection::vec(part, 0..5)
        .prop_map(|parts| parts.into_iter().unzip())
        .prop_map(|(from, to): (Vec<Vec<i64>>, Vec<Vec<i64>>)| (from.concat(), to.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn reshape_keeps_the_elements_and_changes_a_shape_once(
        (from, to) in patterns(),
        open in prop::collection::vec(0..7_i64, 5),
        batched: bool,
    ) {
        let mut open = open.into_iter();
        let mut shape: Vec<i64> = batched.then_some(3).into_iter().collect();
        shape.extend(from.iter().map(|&size| if size == -1 { open.next().unwrap() } else { size }));
        let once = reshaped((&from, &to, batched), &shape);
        prop_assert_eq!(once.iter().product::<i64>(), shape.iter().product::<i64>());
        prop_assert_eq!(once.len(), to.len() + usize::from(batched));
        let back = reshaped((&to, &from, batched), &once);
        prop_assert_eq!(back, shape);
    }
}
