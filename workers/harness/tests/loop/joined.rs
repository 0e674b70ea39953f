use super::Scripted;
use nereid_worker::{
    Batch, DataType, Value, WorkerError, elements,
    rig::{Ask, Layout, Outcome},
};
use proptest::prelude::*;

/// Returns all rows of A, with each element's bytes as they are, and says whether they were copied.
fn whole(batch: &mut Batch<'_>) {
    let joined = match batch.joined_input("A") {
        Ok(joined) => joined,
        Err(error) => return batch.respond_error_to_all(&error),
    };
    let place = (joined.datatype(), joined.shape());
    if joined.datatype() == DataType::Bytes {
        let texts: Vec<_> = elements::elements(joined.bytes()).map(Result::unwrap).collect();
        batch.joined_output_elements("B", joined.shape(), &texts).unwrap();
    } else {
        batch.joined_output("B", place.0, place.1).unwrap().copy_from_slice(joined.bytes());
    }
    for index in 0..batch.requests().len() {
        batch.set_parameter(index, "in_place", Value::BoolValue(joined.is_in_place())).unwrap();
    }
}

fn rows(name: &str, rows: &[[i32; 2]]) -> Ask {
    Ask::new().int32(name, &[i64::try_from(rows.len()).unwrap(), 2], rows.as_flattened())
}

fn in_place(outcome: &Outcome, index: usize) -> bool {
    outcome.only(index).parameters[0].value == Some(Value::BoolValue(true))
}

#[test]
fn rows_that_lie_side_by_side_are_one_tensor_without_a_copy() {
    let mut rig = Scripted::executing(whole).loaded();
    let asks = vec![rows("A", &[[1, 2]]), rows("A", &[[3, 4], [5, 6]]), rows("A", &[[7, 8]])];
    let outcome = rig.execute(asks);
    assert!(in_place(&outcome, 0));
    assert_eq!(outcome.only(0).output("B").int32(), [1, 2]);
    assert_eq!(outcome.only(1).output("B").int32(), [3, 4, 5, 6]);
    assert_eq!(outcome.only(1).output("B").shape, [2, 2]);
    assert_eq!(outcome.only(2).output("B").int32(), [7, 8]);
    let slots: Vec<_> = (0..3).map(|index| outcome.only(index).tensors[0].slot).collect();
    assert!(slots.iter().all(|slot| *slot == slots[0]), "one allocation for all: {slots:?}");
}

#[test]
fn rows_that_lie_apart_are_gathered() {
    let mut rig = Scripted::executing(whole).loaded();
    // Two bytes each, so that the alignment keeps them apart.
    let bytes = |value: u8| Ask::new().input("A", DataType::Uint8, &[1, 2], &[value; 2]);
    let sent = rig.send(vec![bytes(1), bytes(2)], Layout::Apart);
    let outcome = rig.finish(sent);
    assert!(!in_place(&outcome, 0));
    assert_eq!(outcome.only(0).output("B").bytes, [1; 2]);
    assert_eq!(outcome.only(1).output("B").bytes, [2; 2]);
}

#[test]
fn texts_are_split_where_their_rows_end() {
    let mut rig = Scripted::executing(whole).loaded();
    let first = Ask::new().texts("A", &[2, 1], &["long enough", ""]);
    let second = Ask::new().texts("A", &[1, 1], &["x"]);
    let outcome = rig.execute(vec![first, second]);
    assert_eq!(outcome.only(0).output("B").texts(), ["long enough", ""]);
    assert_eq!(outcome.only(1).output("B").texts(), ["x"]);
}

#[test]
fn inputs_that_do_not_fit_together_are_not_joined() {
    let mut rig = Scripted::executing(whole).loaded();
    let other_shape = Ask::new().int32("A", &[1, 3], &[0; 3]);
    let outcome = rig.execute(vec![rows("A", &[[1, 2]]), other_shape]);
    assert!(outcome.only(1).error().contains("cannot be joined"), "{outcome:?}");
    let outcome = rig.execute(vec![rows("A", &[[1, 2]]), rows("C", &[[1, 2]]).id("x")]);
    assert_eq!(outcome.only(0).error(), "request 'x' has no input 'A'");
}

#[test]
fn only_requests_that_want_a_joined_output_and_have_not_failed_get_it() {
    let mut rig = Scripted::executing(|batch| {
        batch.respond_error(1, WorkerError::internal("failed before"));
        whole(batch);
        batch.joined_output("C", DataType::Bool, &[3]).unwrap().fill(1);
        batch.respond_error(2, WorkerError::internal("failed after"));
    })
    .loaded();
    for _round in 0..3 {
        let outcome =
            rig.execute(vec![rows("A", &[[1, 2]]).wants("C"), rows("A", &[[1, 2]]), rows("A", &[[1, 2]])]);
        let names: Vec<_> = outcome.only(0).outputs.iter().map(|output| output.name.as_str()).collect();
        assert_eq!(names, ["C"]);
        assert_eq!(outcome.only(1).error(), "failed before");
        assert_eq!(outcome.only(2).error(), "failed after");
    }
    // B's memory, which nobody got, has come back as well: the arena would be full soon otherwise.
    assert_eq!(rig.needs.len(), 1);
}

#[test]
fn a_joined_output_must_have_the_rows_of_its_requests() {
    let mut rig = Scripted::executing(|batch| {
        let error = batch.joined_output("B", DataType::Int32, &[3, 2]).unwrap_err();
        assert!(error.message.contains("its first dimension is not their sum"), "{error}");
        let error = batch.joined_output_elements("B", &[2], &["just one"]).unwrap_err();
        assert!(error.message.contains("fewer elements"), "{error}");
        let error = batch.joined_output_elements("B", &[2], &["a", "b", "c"]).unwrap_err();
        assert!(error.message.contains("more elements"), "{error}");
        assert!(batch.joined_output("B", DataType::Int32, &[]).is_err());
        batch.joined_output("B", DataType::Int32, &[2]).unwrap().fill(0);
        let error = batch.respond_now(0, true).unwrap_err();
        assert!(error.message.contains("end of its batch"), "{error}");
    })
    .loaded();
    let outcome = rig.execute(vec![rows("A", &[[1, 2]]), rows("A", &[[1, 2]])]);
    assert_eq!(outcome.only(1).output("B").shape, [1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_request_gets_back_the_rows_that_it_sent(
        batches in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<[i32; 2]>(), 0..5), 1..6), 1..4),
        adjacent: bool,
    ) {
        let mut rig = Scripted::executing(whole).loaded();
        for batch in batches {
            let asks = batch.iter().map(|values| rows("A", values)).collect();
            let layout = if adjacent { Layout::Adjacent } else { Layout::Apart };
            let sent = rig.send(asks, layout);
            let outcome = rig.finish(sent);
            for (index, values) in batch.iter().enumerate() {
                prop_assert_eq!(outcome.only(index).output("B").int32(), values.as_flattened());
            }
        }
    }
}
