use super::{TEXT_BYTES_MAX, cut};

#[test]
fn a_long_text_is_cut_at_a_character() {
    let text = format!("x{}", "é".repeat(TEXT_BYTES_MAX));
    assert_eq!(cut(text).len(), TEXT_BYTES_MAX - 1);
    assert_eq!(cut("short".to_owned()), "short");
}
