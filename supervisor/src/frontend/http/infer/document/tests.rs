use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Document<'_> {
    Document::parse(text.as_bytes()).unwrap()
}

#[test]
fn members_are_kept_wherever_they_stand_and_the_first_of_equals_counts() {
    let document = parse(
        r#"{"outputs":[], "extra":[{"inputs":1}], "inputs":[{"data":[1],"shape":[1],"name":"a","name":"b"}],"inputs":3,
            "id":"x"}"#,
    );
    let inputs = document.inputs.get().unwrap();
    assert_eq!(inputs.len(), 1);
    assert_eq!(inputs[0].name.unwrap().as_name().unwrap(), "a");
    assert_eq!(inputs[0].data.unwrap().text(), b"[1]");
    assert!(inputs[0].datatype.is_none());
    assert_eq!(document.id.unwrap().as_name().unwrap(), "x");
    assert!(document.outputs.is_some() && document.parameters.is_none());
}

#[test]
fn what_is_no_object_has_no_members() {
    for text in ["[]", "1", "\"inputs\"", "null", "{}"] {
        let document = parse(text);
        assert_eq!(
            document.inputs.get().unwrap_err().message,
            "attempt to access non-existing object member 'inputs'"
        );
    }
    assert!(parse(r#"{"inputs":[1,{}]}"#).inputs.get().unwrap().iter().all(|input| input.name.is_none()));
    assert_eq!(
        parse(r#"{"inputs":{}}"#).inputs.get().unwrap_err().message,
        "attempt to access JSON non-array as array"
    );
}

#[test]
fn more_inputs_than_any_model_has_are_refused() {
    let text = format!("{{\"inputs\":[{}1]}}", "1,".repeat(TENSORS_MAX));
    assert!(parse(&text).inputs.get().unwrap_err().message.contains("4096 inputs at most"));
}

proptest! {
    #[test]
    fn a_document_is_accepted_exactly_if_it_is_json(
        text in r#"(\{"inputs":\[\{"name":"a","data":\[)?[\[\]{}:,"a1.\-e \\]{0,16}(\]\}\]\})?"#
    ) {
        let accepted = Document::parse(text.as_bytes()).is_ok();
        prop_assert_eq!(accepted, serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
    }
}
