use super::parse;

#[test]
fn no_text_leaves_the_choice_to_the_policy() {
    assert_eq!(parse(""), Ok(None));
}

#[test]
fn numbers_are_versions_and_zero_is_one_of_them() {
    assert_eq!(parse("0"), Ok(Some(0)));
    assert_eq!(parse("17"), Ok(Some(17)));
    assert_eq!(parse(" 3abc"), Ok(Some(3)));
}

#[test]
fn what_is_no_number_or_too_large_is_refused_with_the_text_that_clients_know() {
    for text in ["x", "-", "99999999999999999999"] {
        let message = parse(text).unwrap_err().message;
        assert_eq!(
            message,
            format!(
                "failed to get model version from specified version string '{text}' (details: stol), version should \
                 be an integral value > 0"
            )
        );
    }
    assert_eq!(
        parse("-2").unwrap_err().message,
        "invalid model version specified '-2' , version should be an integral value > 0"
    );
}
