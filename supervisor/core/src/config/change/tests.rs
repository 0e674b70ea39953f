use super::*;
use crate::config::pbtxt;

fn change(old: &str, new: &str) -> Change {
    between(&pbtxt::parse(old).unwrap(), &pbtxt::parse(new).unwrap())
}

#[test]
fn only_instances_and_versions_change_in_place() {
    let old = r#"name: "m" max_batch_size: 4"#;
    assert_eq!(change(old, old), Change::Nothing);
    assert_eq!(change(old, r#"name: "m" max_batch_size: 4 instance_group { count: 2 }"#), Change::InPlace);
    assert_eq!(change(old, r#"name: "m" max_batch_size: 4 version_policy { all {} }"#), Change::InPlace);
    assert_eq!(change(old, r#"name: "m" max_batch_size: 5 instance_group { count: 2 }"#), Change::Reload);
}

#[test]
fn instances_are_alike_whatever_their_name_and_number() {
    let group =
        |text: &str| pbtxt::parse(&format!("instance_group {{ {text} }}")).unwrap().instance_group.remove(0);
    assert!(same_instances(
        &group("name: 'a' count: 1 kind: KIND_CPU"),
        &group("name: 'b' count: 9 kind: KIND_CPU")
    ));
    assert!(!same_instances(&group("kind: KIND_CPU"), &group("kind: KIND_MODEL")));
    assert!(!same_instances(&group("kind: KIND_CPU"), &group("kind: KIND_CPU passive: true")));
}
