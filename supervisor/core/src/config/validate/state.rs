//! The rules of a sequence's implicit states: that what they begin with is what they hold.
//!
//! Whether a state's file exists and is long enough is for whoever reads it.

use super::Findings;
use crate::config::RawConfig;
use crate::config::tensor::VARIABLE;
use nereid_proto::inference::{
    model_config::SchedulingChoice,
    model_sequence_batching::{InitialState, State},
};
use std::collections::BTreeSet;

pub(super) fn check(raw: &RawConfig, findings: &mut Findings) {
    let Some(SchedulingChoice::SequenceBatching(sequence)) = &raw.scheduling_choice else { return };
    let mut seen = BTreeSet::new();
    for state in &sequence.state {
        let input = &state.input_name;
        let count = state.initial_state.len();
        findings.invalid_if(count > 1, || {
            format!(
                "initial_state field for state input '{input}' must contain exactly one or zero element. Found \
                 '{count}' elements."
            )
        });
        if let [initial] = state.initial_state.as_slice() {
            check_description(state, initial, findings);
            findings.invalid_if(seen.contains(input), || {
                format!("State input name '{input}' specified more than once.")
            });
            check_dims(state, initial, findings);
            findings.invalid_if(initial.state_data.is_none(), || {
                format!("initial_state setting expects state'{input}' to have state_data set")
            });
        }
        seen.insert(input);
    }
}

fn check_description(state: &State, initial: &InitialState, findings: &mut Findings) {
    let input = &state.input_name;
    findings.invalid_if(initial.data_type != state.data_type, || {
        format!("The data type used for 'initial_state' field of state '{input}' does not match the state data type.")
    });
    findings.invalid_if(initial.name.is_empty(), || {
        format!("Field 'name' must be set when using initial_state for state input '{input}'.")
    });
}

fn check_dims(state: &State, initial: &InitialState, findings: &mut Findings) {
    let input = &state.input_name;
    let (given, wanted) = (initial.dims.len(), state.dims.len());
    if given != wanted {
        findings.invalid(format!(
            "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input \
             '{input}'. {given} != {wanted}"
        ));
        return;
    }
    for (given, wanted) in initial.dims.iter().zip(&state.dims) {
        findings.invalid_if(*given == VARIABLE, || {
            format!("'initial_state' field for state input name '{input}' contains variable dimensions.")
        });
        findings.invalid_if(*given != VARIABLE && *wanted != VARIABLE && given != wanted, || {
            format!(
                "'initial_state' dim for input name '{input}' doesn't match 'state' dim description. {given} != \
                 {wanted}"
            )
        });
    }
}
