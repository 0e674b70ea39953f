use super::*;

fn forward(pattern: &str, names: &[&str]) -> Result<Vec<String>, ServeError> {
    let mut parameters = Vec::new();
    let headers = names.iter().map(|&name| (name, &b"value"[..]));
    ForwardPattern::new(pattern).unwrap().forward(headers, &mut parameters)?;
    Ok(parameters.into_iter().map(|(name, _)| name).collect())
}

#[test]
fn a_pattern_matches_any_part_of_a_name_in_any_case() {
    assert_eq!(
        forward("MY_", &["my_header", "not_my_header", "other"]).unwrap(),
        ["my_header", "not_my_header"]
    );
}

#[test]
fn a_pattern_can_care_for_case() {
    assert!(forward("(?-i)MY_", &["my_header"]).unwrap().is_empty());
}

#[test]
fn reserved_names_are_refused() {
    for name in ["priority", "headers", "triton_anything"] {
        assert_eq!(
            forward(".*", &[name]).unwrap_err().message,
            format!("Header '{name}' is reserved for Triton usage and cannot be forwarded.")
        );
    }
}

#[test]
fn a_broken_pattern_is_an_error() {
    assert!(ForwardPattern::new("(").is_err());
}
