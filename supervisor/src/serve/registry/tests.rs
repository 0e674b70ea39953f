use super::*;

#[test]
fn a_version_that_was_unloaded_on_purpose_does_not_spoil_readiness() {
    let registry = Registry::default();
    registry.set("m", 1, VersionState::Unloaded);
    assert!(registry.all_ready());
    registry.set("m", 2, VersionState::Loading);
    assert!(!registry.all_ready());
    assert_eq!(registry.index()[0].reason, "unloaded");
}

#[test]
fn a_version_takes_the_place_of_the_reason_why_there_was_none() {
    let registry = Registry::default();
    registry.set_failed("m", "it does not parse".to_owned());
    assert!(!registry.all_ready());
    registry.set("m", 1, VersionState::Unloaded);
    assert!(registry.all_ready());
}

#[test]
fn a_load_that_says_no_more_leaves_nothing_loading() {
    let registry = Registry::default();
    registry.set("begun", 1, VersionState::Loading);
    registry.set("decided", 1, VersionState::Unavailable("its own".to_owned()));
    for model in ["begun", "decided", "unknown"] {
        registry.give_up_loading(model, "why");
    }
    let reasons: Vec<String> = registry.index().into_iter().map(|entry| entry.reason).collect();
    assert_eq!(reasons, ["why", "its own", "why"]);
    assert!(!registry.all_ready());
}
