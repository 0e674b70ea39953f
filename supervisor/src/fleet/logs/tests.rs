use super::*;

fn relay() -> Relay {
    Relay::new(Origin { model: "m".to_owned(), instance: "m_0".to_owned(), generation: 1 })
}

#[tokio::test]
async fn the_last_lines_of_stderr_are_kept_even_of_a_worker_that_writes_too_much() {
    let text: String = (0..5000).map(|number| format!("line {number}\n")).collect();
    let relay = relay();
    read_lines(text.as_bytes(), Stream::Stderr, &relay).await;
    let kept = relay.last_lines().snapshot();
    assert_eq!(kept.len(), LAST_LINES);
    assert_eq!(kept.last().map(String::as_str), Some("line 4999"));
}

#[tokio::test]
async fn a_last_line_without_its_end_is_kept() {
    let relay = relay();
    read_lines(&b"one\ntwo"[..], Stream::Stderr, &relay).await;
    assert_eq!(relay.last_lines().snapshot(), ["one", "two"]);
}

#[test]
fn lines_beyond_the_quota_are_counted() {
    let relay = relay();
    let admitted = (0..LINES_PER_SECOND_MAX * 3).filter(|_| relay.admits()).count();
    assert!(admitted < 3 * LINES_PER_SECOND_MAX as usize);
    assert!(relay.quota.lock().unwrap().dropped > 0);
    relay.end();
    assert_eq!(relay.quota.lock().unwrap().dropped, 0);
}
