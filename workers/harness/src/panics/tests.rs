use super::catch;

#[test]
fn a_panic_becomes_a_sentence() {
    let told = catch("execute", || panic!("no {}", "luck")).unwrap_err();
    assert_eq!(told, "panicked in execute: no luck");
    let told = catch::<()>("load", || std::panic::panic_any(7)).unwrap_err();
    assert_eq!(told, "panicked in load: something that is not a text");
}

#[test]
fn what_does_not_panic_is_passed_on() {
    assert_eq!(catch("execute", || 5), Ok(5));
}
