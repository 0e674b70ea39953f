use super::*;

const ENSEMBLE: &str = "name: 'm' platform: 'ensemble'
    input { name: 'a' data_type: TYPE_INT8 dims: 1 } output { name: 'z' data_type: TYPE_INT8 dims: 1 }";

/// A step from some tensors to others: `x>y` names them by letters.
fn step(flow: &str) -> String {
    let (from, to) = flow.split_once('>').unwrap();
    let map = |field: &str, tensors: &str| -> String {
        let entries = tensors.chars().enumerate();
        entries.map(|(index, tensor)| format!("{field} {{ key: 't{index}' value: '{tensor}' }}")).collect()
    };
    format!("step {{ model_name: 'x' {} {} }}", map("input_map", from), map("output_map", to))
}

fn flow(steps: &[&str]) -> String {
    format!("ensemble_scheduling {{ {} }}", steps.iter().map(|flow| step(flow)).collect::<String>())
}

#[test]
fn an_ensemble_has_nothing_that_only_models_have() {
    let good = flow(&["a>z"]);
    accepts(ENSEMBLE, &facts(&[]), &[&good]);
    refuses_with(
        &format!("{ENSEMBLE} {good}"),
        &facts(&[]),
        &[
            ("instance_group { count: 1 }", "instance group should not be specified for ensemble 'm'"),
            ("optimization {}", "optimization should not be specified for ensemble 'm'"),
            ("model_warmup {}", "model_warmup can not be specified for ensemble 'm'"),
        ],
    );
    let other = "name: 'm' backend: 'b' input { name: 'a' data_type: TYPE_INT8 dims: 1 }
        output { name: 'z' data_type: TYPE_INT8 dims: 1 }";
    refuses_with(
        other,
        &facts(&[]),
        &[(&good, "ensemble scheduling cannot be set for model 'm' whose platform is not ensemble")],
    );
}

#[test]
fn steps_say_what_they_run_and_what_flows() {
    let maps = "input_map { key: 'i' value: 'a' } output_map { key: 'o' value: 'z' }";
    let rows = [
        ("ensemble_scheduling {}".to_owned(), "must specify 'step' for ensemble 'm'"),
        (
            format!("ensemble_scheduling {{ step {{ {maps} }} }}"),
            "must specify 'model_name' in step 0 of ensemble 'm'",
        ),
        (
            format!(
                "ensemble_scheduling {{ {} step {{ model_name: 'x' output_map {{ key: 'o' value: 'b' }} }} }}",
                step("a>z")
            ),
            "must specify 'input_map' in step 1 of ensemble 'm'",
        ),
        (
            "ensemble_scheduling { step { model_name: 'x' input_map { key: 'i' value: 'a' } } }".to_owned(),
            "must specify 'output_map' in step 0 of ensemble 'm'",
        ),
        (
            flow(&["a>b", "a>zb"]),
            "ensemble tensor 'b' can appear in an output map only once for ensemble 'm' step 1",
        ),
    ];
    for (text, expected) in &rows {
        refuses_with(ENSEMBLE, &facts(&[]), &[(text, expected)]);
    }
}

/// The first mistake: others may follow from it.
fn first(steps: &[&str]) -> Option<String> {
    let raw = completed(&format!("{ENSEMBLE} {}", flow(steps)), &facts(&[]));
    validate(&raw, &facts(&[])).err().map(|error| error.message)
}

#[test]
fn data_flows_from_the_inputs_to_the_outputs() {
    let unused_input = Some("ensemble input 'a' for ensemble m' is not used".to_owned());
    assert_eq!(first(&["b>z"]), unused_input);
    assert_eq!(first(&["a>b"]), Some("ensemble output 'z' for ensemble m' is not used".to_owned()));
    let unwritten = "output 'z' for ensemble 'm' is not written";
    assert_eq!(first(&["az>b"]), Some(unwritten.to_owned()));
    let unconnected = |tensor: &str| {
        Some(format!("{unwritten}: at least one of its depending tensors, '{tensor}', is not connected"))
    };
    assert_eq!(first(&["ab>z"]), unconnected("b"));
    assert_eq!(first(&["c>b", "ab>z"]), unconnected("c"));
    assert_eq!(first(&["ac>b", "b>cz"]), unconnected("c"));
    assert_eq!(first(&["a>zb"]), Some("ensemble tensor 'b' is unused in ensemble 'm'".to_owned()));
    assert_eq!(first(&["a>z", "b>c"]), Some("ensemble tensor 'b' is unused in ensemble 'm'".to_owned()));
}

#[test]
fn steps_may_stand_in_any_order_and_join() {
    assert_eq!(first(&["bc>z", "a>b", "a>c"]), None);
    assert_eq!(first(&["d>z", "bc>d", "a>bc"]), None);
}
