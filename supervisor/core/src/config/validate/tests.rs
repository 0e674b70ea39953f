//! Every mistake with its text, one row each: what is written, and what is said about it.

mod ensemble;
mod groups;
mod io;
mod model;
mod sequence;
mod state;

use super::*;
use crate::config::{normalise, pbtxt};
use crate::error::ErrorKind;

/// A valid model to add mistakes to.
const BASE: &str = "name: 'm' backend: 'b' max_batch_size: 8 ";

fn facts(gpus: &[i32]) -> ServerFacts {
    ServerFacts { gpus: gpus.to_vec(), ..Default::default() }
}

/// With all defaults filled in.
fn completed(text: &str, facts: &ServerFacts) -> RawConfig {
    let mut raw = pbtxt::parse(text).unwrap();
    normalise::normalise(&mut raw);
    normalise::normalise_instance_groups(&mut raw, facts, &[]);
    raw
}

fn messages(raw: &RawConfig, facts: &ServerFacts) -> Vec<String> {
    validate_all(raw, facts).into_iter().map(|error| error.message).collect()
}

/// Checks rows of mistakes that are added to [`BASE`].
fn refuses(rows: &[(&str, &str)]) {
    refuses_with(BASE, &facts(&[]), rows);
}

/// Checks that each row has that mistake, as the first and the only one, and as an invalid argument.
fn refuses_with(base: &str, facts: &ServerFacts, rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        let raw = completed(&format!("{base} {text}"), facts);
        assert_eq!(messages(&raw, facts), [*expected], "{text}");
        assert_eq!(validate(&raw, facts).unwrap_err().kind, ErrorKind::InvalidArgument);
    }
}

/// Checks that nothing is wrong with the rows.
fn accepts(base: &str, facts: &ServerFacts, rows: &[&str]) {
    for text in rows {
        let raw = completed(&format!("{base} {text}"), facts);
        assert_eq!(messages(&raw, facts), [""; 0], "{text}");
    }
}

#[test]
fn all_mistakes_are_told_and_the_first_is_the_one_that_counts() {
    let raw = completed(
        "name: 'm' max_batch_size: -1 input { name: 'a' } instance_group { kind: KIND_CPU gpus: 1 }",
        &facts(&[]),
    );
    let all = messages(&raw, &facts(&[]));
    assert_eq!(
        all,
        [
            "unexpected platform type '' for m",
            "'max_batch_size' must be non-negative value for m",
            "model input 'a' must specify 'data_type' for m",
            "model input 'a' must specify 'dims' for m",
            "instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs",
        ]
    );
    assert_eq!(validate(&raw, &facts(&[])).unwrap_err().message, all[0]);
    assert_eq!(validate_before_completion(&raw, &ServerFacts::default()).unwrap_err().message, all[0]);
}

#[test]
fn tensors_are_not_asked_for_before_completion() {
    let raw = completed(&format!("{BASE} input {{ name: 'a' }}"), &facts(&[]));
    assert_eq!(validate_before_completion(&raw, &facts(&[])), Ok(()));
    assert!(validate(&raw, &facts(&[])).is_err());
}

#[test]
fn instances_are_counted_before_any_is_started() {
    let raw =
        completed(&format!("{BASE} instance_group {{ kind: KIND_CPU count: 2000000000 }}"), &facts(&[]));
    let error = validate_before_completion(&raw, &facts(&[])).unwrap_err();
    assert_eq!(
        error.message,
        "the instance groups of model m ask for 2000000000 instances; the limit is 4096"
    );
}
