use super::*;

fn control(name: &str, content: &str) -> String {
    format!("sequence_batching {{ control_input {{ name: '{name}' {content} }} }}")
}

fn flag(kind: &str, values: &str) -> String {
    control("T", &format!("control {{ kind: CONTROL_SEQUENCE_{kind} {values} }}"))
}

#[test]
fn control_tensors_have_names_of_their_own() {
    refuses(&[
        (
            &control("", "control { int32_false_true: [ 0, 1 ] }"),
            "sequence batching control tensor must have a name for m",
        ),
        (
            "sequence_batching { control_input { name: 'T' } control_input { name: 'T' } }",
            "sequence batching control tensor 'T' is specified for multiple control kinds for m",
        ),
    ]);
}

#[test]
fn a_control_is_given_once() {
    for kind in ["START", "END", "READY"] {
        let twice = format!(
            "sequence_batching {{
               control_input {{ name: 'A' control {{ kind: CONTROL_SEQUENCE_{kind} int32_false_true: [ 0, 1 ] }} }}
               control_input {{ name: 'B' control {{ kind: CONTROL_SEQUENCE_{kind} fp32_false_true: [ 0, 1 ] }} }} }}"
        );
        let expected = format!("sequence batching specifies multiple CONTROL_SEQUENCE_{kind} tensors for m");
        refuses(&[(&twice, &expected)]);
    }
    refuses(&[(
        "sequence_batching {
           control_input { name: 'A' control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
           control_input { name: 'B' control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } } }",
        "sequence batching specifies multiple CONTROL_SEQUENCE_CORRID tensors for m",
    )]);
}

#[test]
fn a_flag_has_one_pair_of_values() {
    for kind in ["START", "END", "READY"] {
        let one_list = |list: &str, values: &str| flag(kind, &format!("{list}: {values}"));
        let full = format!("CONTROL_SEQUENCE_{kind}");
        let rows = [
            (
                flag(kind, ""),
                format!(
                    "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or \
                     'bool_false_true' for {full} for m"
                ),
            ),
            (
                flag(kind, "int32_false_true: [ 0, 1 ] bool_false_true: [ false, true ]"),
                format!(
                    "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and \
                     'bool_false_true' for {full} for m"
                ),
            ),
            (
                one_list("int32_false_true", "[ 0, 1, 2 ]"),
                format!(
                    "sequence batching control 'int32_false_true' must have exactly 2 entries for {full} for m"
                ),
            ),
            (
                one_list("fp32_false_true", "0"),
                format!(
                    "sequence batching control 'fp32_false_true' must have exactly 2 entries for {full} for m"
                ),
            ),
            (
                one_list("bool_false_true", "false"),
                format!(
                    "sequence batching control 'bool_false_true' must have exactly 2 entries for {full} for m"
                ),
            ),
        ];
        for (text, expected) in &rows {
            refuses(&[(text, expected)]);
        }
    }
}

#[test]
fn the_id_of_a_sequence_has_a_type_and_no_values() {
    refuses(&[
        (
            &flag("CORRID", "data_type: TYPE_UINT64 int32_false_true: [ 0, 1 ]"),
            "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for \
             CONTROL_SEQUENCE_CORRID for m",
        ),
        (
            &flag("CORRID", "data_type: TYPE_FP32"),
            "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, \
             TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING",
        ),
        (
            &flag("CORRID", ""),
            "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, \
             TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING",
        ),
    ]);
    for data_type in ["TYPE_UINT64", "TYPE_INT64", "TYPE_UINT32", "TYPE_INT32", "TYPE_STRING"] {
        accepts(BASE, &facts(&[]), &[&flag("CORRID", &format!("data_type: {data_type}"))]);
    }
}

#[test]
fn strategies_stay_within_the_batch() {
    let utilization = "sequence batching minimum slot utilization must be in range (0.0, 1.0] for m";
    refuses(&[
        (
            "sequence_batching { oldest { preferred_batch_size: 0 } }",
            "sequence batching preferred batch size must be positive for m",
        ),
        (
            "sequence_batching { oldest { preferred_batch_size: 9 } }",
            "sequence batching preferred batch size must be <= max batch size for m",
        ),
        ("sequence_batching { direct { minimum_slot_utilization: -0.1 } }", utilization),
        ("sequence_batching { direct { minimum_slot_utilization: 1.1 } }", utilization),
        ("sequence_batching { direct { minimum_slot_utilization: nan } }", utilization),
    ]);
    accepts(
        BASE,
        &facts(&[]),
        &[
            "sequence_batching { direct { minimum_slot_utilization: 0 } }",
            "sequence_batching { direct { minimum_slot_utilization: 1 } }",
            "sequence_batching { oldest { preferred_batch_size: [ 1, 8 ] } }",
        ],
    );
}
