use super::*;

/// A state `S` of type and dims with those initial states.
fn state(initial: &str) -> String {
    format!("state {{ input_name: 'S' output_name: 'T' data_type: TYPE_INT8 dims: [ -1, 2 ] {initial} }}")
}

fn sequence(states: &str) -> String {
    format!("sequence_batching {{ {states} }}")
}

const GOOD: &str = "initial_state { name: 'i' data_type: TYPE_INT8 dims: [ 5, 2 ] zero_data: true }";

#[test]
fn a_state_begins_as_what_it_holds() {
    let with = |from: &str, to: &str| sequence(&state(&GOOD.replace(from, to)));
    let rows = [
        (
            sequence(&state(&format!("{GOOD} {GOOD}"))),
            "initial_state field for state input 'S' must contain exactly one or zero element. Found '2' elements.",
        ),
        (
            with("TYPE_INT8", "TYPE_INT16"),
            "The data type used for 'initial_state' field of state 'S' does not match the state data type.",
        ),
        (with("name: 'i'", ""), "Field 'name' must be set when using initial_state for state input 'S'."),
        (
            sequence(&format!("{} {}", state(GOOD), state(GOOD))),
            "State input name 'S' specified more than once.",
        ),
        (
            with("[ 5, 2 ]", "[ 5 ]"),
            "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input \
             'S'. 1 != 2",
        ),
        (
            with("[ 5, 2 ]", "[ 5, -1 ]"),
            "'initial_state' field for state input name 'S' contains variable dimensions.",
        ),
        (
            with("[ 5, 2 ]", "[ 5, 3 ]"),
            "'initial_state' dim for input name 'S' doesn't match 'state' dim description. 3 != 2",
        ),
        (with("zero_data: true", ""), "initial_state setting expects state'S' to have state_data set"),
    ];
    for (text, expected) in &rows {
        refuses(&[(text, expected)]);
    }
    accepts(BASE, &facts(&[]), &[&sequence(&state(GOOD)), &sequence(&state(""))]);
}
