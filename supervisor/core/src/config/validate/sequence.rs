//! The rules of sequence batching: its control tensors, its strategies, its states.

use super::{Findings, caches};
use crate::config::{DataType, RawConfig};
use nereid_proto::inference::{
    ModelSequenceBatching,
    model_sequence_batching::{Control, ControlInput, StrategyChoice, control::Kind},
};
use std::collections::BTreeSet;

const VALUE_LISTS: &str = "'int32_false_true', 'fp32_false_true'";

pub(super) fn check(raw: &RawConfig, sequence: &ModelSequenceBatching, findings: &mut Findings) {
    let name = &raw.name;
    findings.invalid_if(caches(raw), || {
        format!(
            "Response Cache does not currently support model {name} with sequence batching scheduler. Please disable \
             the response cache."
        )
    });
    check_tensors(name, &sequence.control_input, findings);
    for kind in [Kind::ControlSequenceStart, Kind::ControlSequenceEnd, Kind::ControlSequenceReady] {
        for control in single(name, kind, &sequence.control_input, findings) {
            check_flag(name, kind, control, findings);
        }
    }
    let kind = Kind::ControlSequenceCorrid;
    for control in single(name, kind, &sequence.control_input, findings) {
        check_correlation(name, control, findings);
    }
    check_strategy(raw, sequence, findings);
}

fn check_tensors(name: &str, inputs: &[ControlInput], findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for input in inputs {
        let tensor = input.name.as_str();
        findings.invalid_if(tensor.is_empty(), || {
            format!("sequence batching control tensor must have a name for {name}")
        });
        findings.invalid_if(!tensor.is_empty() && !seen.insert(tensor), || {
            format!("sequence batching control tensor '{tensor}' is specified for multiple control kinds for {name}")
        });
    }
}

/// The controls of a kind, of which there may be one.
fn single<'a>(
    name: &str,
    kind: Kind,
    inputs: &'a [ControlInput],
    findings: &mut Findings,
) -> impl Iterator<Item = &'a Control> + use<'a> {
    let controls =
        move || inputs.iter().flat_map(|input| &input.control).filter(move |control| control.kind() == kind);
    findings.invalid_if(controls().count() > 1, || {
        format!("sequence batching specifies multiple {} tensors for {name}", kind.as_str_name())
    });
    controls().take(1)
}

/// A control that is false or true: one pair of values in one type.
fn check_flag(name: &str, kind: Kind, control: &Control, findings: &mut Findings) {
    let kind = kind.as_str_name();
    let lists = [
        ("int32_false_true", control.int32_false_true.len()),
        ("fp32_false_true", control.fp32_false_true.len()),
        ("bool_false_true", control.bool_false_true.len()),
    ];
    let given: Vec<_> = lists.into_iter().filter(|(_, length)| *length > 0).collect();
    match given.as_slice() {
        [] => findings.invalid(format!(
            "sequence batching must specify either {VALUE_LISTS} or 'bool_false_true' for {kind} for {name}"
        )),
        [(list, length)] => findings.invalid_if(*length != 2, || {
            format!("sequence batching control '{list}' must have exactly 2 entries for {kind} for {name}")
        }),
        _ => findings.invalid(format!(
            "sequence batching specifies more than one from {VALUE_LISTS} and 'bool_false_true' for {kind} for {name}"
        )),
    }
}

/// The control that carries the sequence's id: a type, no values.
fn check_correlation(name: &str, control: &Control, findings: &mut Findings) {
    let kind = Kind::ControlSequenceCorrid.as_str_name();
    let values = !control.int32_false_true.is_empty()
        || !control.fp32_false_true.is_empty()
        || !control.bool_false_true.is_empty();
    findings.invalid_if(values, || {
        format!("sequence batching must not specify either {VALUE_LISTS} or 'bool_false_true' for {kind} for {name}")
    });
    let allowed = [DataType::Uint64, DataType::Int64, DataType::Uint32, DataType::Int32, DataType::Bytes]
        .map(DataType::config_number);
    findings.invalid_if(!allowed.contains(&control.data_type), || {
        format!(
            "unexpected data type for control {kind} for {name}. Allowed data types are TYPE_UINT64, TYPE_INT64, \
             TYPE_UINT32, TYPE_INT32 and TYPE_STRING"
        )
    });
}

fn check_strategy(raw: &RawConfig, sequence: &ModelSequenceBatching, findings: &mut Findings) {
    let name = &raw.name;
    match &sequence.strategy_choice {
        Some(StrategyChoice::Oldest(oldest)) => {
            for &size in &oldest.preferred_batch_size {
                findings.invalid_if(size <= 0, || {
                    format!("sequence batching preferred batch size must be positive for {name}")
                });
                findings.invalid_if(size > raw.max_batch_size, || {
                    format!("sequence batching preferred batch size must be <= max batch size for {name}")
                });
            }
        }
        Some(StrategyChoice::Direct(direct)) => {
            // The text says otherwise, but zero is the default and means "not used".
            findings.invalid_if(!(0.0..=1.0).contains(&direct.minimum_slot_utilization), || {
                format!("sequence batching minimum slot utilization must be in range (0.0, 1.0] for {name}")
            });
        }
        None => {}
    }
}
