use proptest::prelude::*;

use super::number::{is_too_big, parse_double, parse_signed, parse_unsigned, write_double, write_signed};
use super::value::Value;
use super::write::write_string;

fn printed(value: f64) -> String {
    let mut out = Vec::new();
    write_double(&mut out, value);
    String::from_utf8(out).unwrap()
}

fn syntax(text: &str) -> (&'static str, usize) {
    let error = Value::parse(text.as_bytes()).unwrap_err();
    (error.message, error.offset)
}

#[test]
fn floats_are_printed_as_the_doubles_that_they_are() {
    for (value, text) in [
        (f64::from(0.1_f32), "0.10000000149011612"),
        (0.1, "0.1"),
        (1.0, "1.0"),
        (-1.5, "-1.5"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e15, "1000000000000000.0"),
        (1e16, "10000000000000000.0"),
        (1.25e17, "125000000000000000.0"),
        (1.234_567_890_123_456_7e18, "1234567890123456800.0"),
        (1e20, "100000000000000000000.0"),
        (1e21, "1e21"),
        (-1.5e22, "-1.5e22"),
        (1e-5, "0.00001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (-2.5e-8, "-2.5e-8"),
        (f64::MAX, "1.7976931348623157e308"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        assert_eq!(printed(value), text);
    }
}

#[test]
fn words_for_what_no_number_can_say_are_numbers() {
    for (text, value) in [
        ("Inf", f64::INFINITY),
        ("Infinity", f64::INFINITY),
        ("-Inf", f64::NEG_INFINITY),
        ("-Infinity", f64::NEG_INFINITY),
    ] {
        assert_eq!(Value::parse(text.as_bytes()).unwrap().as_double(), Ok(value));
    }
    assert!(Value::parse(b"NaN").unwrap().as_double().unwrap().is_nan());
    for text in ["Infi", "Infinit", "Na", "nan", "inf", "+1", "-"] {
        assert_eq!(syntax(text).0, "Invalid value.", "{text}");
    }
}

#[test]
fn a_number_that_no_double_holds_is_refused() {
    let error = Value::parse(b"1e400").unwrap().as_double().unwrap_err();
    assert_eq!(error.message, "Number too big to be stored in double.");
}

#[test]
fn integers_are_exact_or_none() {
    assert_eq!(parse_unsigned(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(parse_unsigned(b"18446744073709551616"), None);
    assert_eq!(parse_unsigned(b"-0"), Some(0));
    assert_eq!(parse_signed(b"-9223372036854775808"), Some(i64::MIN));
    assert_eq!(parse_signed(b"9223372036854775808"), None);
    for text in ["1.0", "1e2", "-1.5"] {
        assert_eq!(parse_signed(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where_in_the_words_that_clients_know() {
    for (text, message, offset) in [
        ("", "The document is empty.", 0),
        ("  ", "The document is empty.", 2),
        ("{} {}", "The document root must not be followed by other values.", 3),
        ("{\"a\":}", "Invalid value.", 5),
        ("{a:1}", "Missing a name for object member.", 1),
        ("{\"a\" 1}", "Missing a colon after a name of object member.", 5),
        ("{\"a\":1 \"b\":2}", "Missing a comma or } after an object member.", 7),
        ("[1 2]", "Missing a comma or ] after an array element.", 3),
        ("[1,]", "Invalid value.", 3),
        ("\"abc", "Missing a closing quotation mark in string.", 0),
        ("\"\\q\"", "Invalid escape character in string.", 1),
        ("\"\\u12g4\"", "Incorrect hex digit after \\u escape in string.", 1),
        ("\"\\ud800x\"", "The surrogate pair in string is invalid.", 1),
        ("\"\\udc00\"", "The surrogate pair in string is invalid.", 1),
        ("1.", "Miss fraction part in number.", 2),
        ("1e+", "Miss exponent in number.", 3),
        ("01", "The document root must not be followed by other values.", 1),
        ("tru", "Invalid value.", 3),
        ("[", "Invalid value.", 1),
    ] {
        assert_eq!(syntax(text), (message, offset), "{text}");
    }
}

#[test]
fn deep_nesting_is_walked_without_recursion() {
    let depth = 1_000_000;
    let text = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Value::parse(text.as_bytes()).is_ok());
    let objects = format!("{}1{}", "{\"a\":[".repeat(1000), "]}".repeat(1000));
    assert!(Value::parse(objects.as_bytes()).is_ok());
    assert!(Value::parse(objects.replace("]}", "}]").as_bytes()).is_err());
}

#[test]
fn members_are_found_by_their_unescaped_name_and_the_first_counts() {
    let value = Value::parse(br#" { "a" : 1 , "\u0061" : 2, "b":[true , "x"] } "#).unwrap();
    assert_eq!(value.find("a").unwrap().as_unsigned(), Ok(1));
    let elements: Vec<&[u8]> = value.find("b").unwrap().elements().unwrap().map(Value::text).collect();
    assert_eq!(elements, [&b"true"[..], b"\"x\""]);
    assert!(value.find("c").is_none());
    assert!(Value::parse(b"[1]").unwrap().find("a").is_none());
}

#[test]
fn strings_are_bytes() {
    let value = Value::parse(b"\"\xff\\u00e9\\ud83d\\ude00\\n\\/\"").unwrap();
    assert_eq!(value.as_bytes().unwrap().as_ref(), b"\xff\xc3\xa9\xf0\x9f\x98\x80\n/");
    assert_eq!(Value::parse(b"\"ab\\u0000cd\"").unwrap().as_name().unwrap(), "ab");
}

#[test]
fn accessors_say_what_is_wrong_in_the_words_that_clients_know() {
    let value = Value::parse(b"[1.5]").unwrap();
    let text = |result: Result<_, nereid_core::error::ServeError>| result.unwrap_err().message;
    assert_eq!(text(value.as_name().map(drop)), "attempt to access JSON non-string as string");
    assert_eq!(text(value.as_bool().map(drop)), "attempt to access JSON non-boolean as boolean");
    assert_eq!(
        text(value.as_signed().map(drop)),
        "attempt to access JSON non-signed-integer as signed-integer"
    );
    assert_eq!(
        text(value.as_unsigned().map(drop)),
        "attempt to access JSON non-unsigned-integer as unsigned-integer"
    );
    assert_eq!(text(value.as_double().map(drop)), "attempt to access JSON non-number as double");
    assert_eq!(text(value.members().map(drop)), "attempt to get members for non-object");
    let number = Value::parse(b"1").unwrap();
    assert_eq!(text(number.elements().map(drop)), "attempt to access JSON non-array as array");
}

#[test]
fn control_characters_are_escaped_and_other_bytes_pass() {
    let mut out = Vec::new();
    write_string(&mut out, b"a\"\\/\x08\x09\x0a\x0c\x0d\x01\x1f\x7f\xff");
    assert_eq!(out, b"\"a\\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001F\x7f\xff\"");
}

proptest! {
    #[test]
    fn numbers_are_parsed_as_the_standard_library_does(
        text in r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?"
    ) {
        let value = parse_double(text.as_bytes());
        let expected: f64 = text.parse().unwrap();
        prop_assert_eq!(value.to_bits(), expected.to_bits());
        prop_assert_eq!(is_too_big(text.as_bytes(), value), expected.is_infinite());
        // And as a JSON library does, which takes only what the grammar allows.
        if let Ok(other) = serde_json::from_str::<f64>(&text) {
            prop_assert!((value - other).abs() <= f64::EPSILON * value.abs());
        }
    }

    #[test]
    fn what_is_printed_is_parsed_to_the_same_bits(bits: u64) {
        let value = f64::from_bits(bits);
        let text = printed(value);
        let parsed = Value::parse(text.as_bytes()).unwrap().as_double().unwrap();
        prop_assert!(parsed.to_bits() == bits || (value.is_nan() && parsed.is_nan()), "{}", text);
    }

    #[test]
    fn floats_survive_the_way_through_text(bits: u32) {
        let value = f32::from_bits(bits);
        let parsed = parse_double(printed(f64::from(value)).as_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "what the decoder does")]
        let single = parsed as f32;
        prop_assert!(single.to_bits() == bits || (value.is_nan() && single.is_nan()));
    }

    #[test]
    fn integers_survive_the_way_through_text(value: i64) {
        let mut out = Vec::new();
        write_signed(&mut out, value);
        prop_assert_eq!(parse_signed(&out), Some(value));
    }

    #[test]
    fn strings_survive_the_way_through_text(bytes: Vec<u8>) {
        let mut out = Vec::new();
        write_string(&mut out, &bytes);
        let value = Value::parse(&out).unwrap();
        let back = value.as_bytes().unwrap();
        prop_assert_eq!(back.as_ref(), bytes.as_slice());
    }

    #[test]
    fn the_grammar_is_that_of_a_json_library(text in r#"[\[\]{}:,"a1.\-e tru\\n]{0,24}"#) {
        let accepted = Value::parse(text.as_bytes()).is_ok();
        let expected = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(accepted, expected, "{}", text);
    }

    #[test]
    fn any_bytes_are_walked_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(value) = Value::parse(&bytes) {
            let _ = (value.as_double(), value.as_name(), value.as_signed(), value.find("a").is_some());
            if let Ok(elements) = value.elements() {
                elements.for_each(|element| drop(element.as_bytes()));
            }
        }
    }
}
