use super::*;

fn restrictions() -> Restrictions {
    let mut restrictions = Restrictions::default();
    assert!(restrictions.add(Category::Inference, Key::new("x-key".into(), "secret".into())));
    restrictions
}

#[test]
fn only_the_exact_value_opens_a_restricted_group() {
    let restrictions = restrictions();
    for (value, missing) in [
        (Some(&b"secret"[..]), None),
        (Some(b"secre"), Some("x-key")),
        (Some(b"secrets"), Some("x-key")),
        (Some(b"Secret"), Some("x-key")),
        (None, Some("x-key")),
    ] {
        assert_eq!(restrictions.missing(Category::Inference, |_| value), missing, "{value:?}");
    }
}

#[test]
fn other_groups_stay_open() {
    assert_eq!(restrictions().missing(Category::Health, |_| None), None);
}

#[test]
fn a_group_is_restricted_once() {
    assert!(!restrictions().add(Category::Inference, Key::new("other".into(), "value".into())));
}

#[test]
fn the_value_does_not_appear_in_debug_output() {
    assert!(!format!("{:?}", restrictions()).contains("secret"));
}

#[test]
fn every_name_is_known() {
    for (name, category) in Category::NAMES {
        assert_eq!(Category::from_name(name), Some(category));
    }
    assert_eq!(Category::from_name("model-reposit"), None);
}
