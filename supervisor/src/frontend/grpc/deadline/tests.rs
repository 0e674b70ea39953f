use super::*;
use http::HeaderValue;

fn parse(text: &'static str) -> Option<Duration> {
    let mut headers = HeaderMap::new();
    headers.insert("grpc-timeout", HeaderValue::from_static(text));
    timeout(&headers)
}

#[test]
fn every_unit_of_the_protocol_is_understood() {
    assert_eq!(parse("2H"), Some(Duration::from_secs(7200)));
    assert_eq!(parse("3M"), Some(Duration::from_secs(180)));
    assert_eq!(parse("4S"), Some(Duration::from_secs(4)));
    assert_eq!(parse("5m"), Some(Duration::from_millis(5)));
    assert_eq!(parse("6u"), Some(Duration::from_micros(6)));
    assert_eq!(parse("7n"), Some(Duration::from_nanos(7)));
}

#[test]
fn what_is_not_clear_is_no_deadline() {
    for text in ["", "S", "1", "1s", "123456789S", "-1S", "1.5S"] {
        assert_eq!(parse(text), None, "{text}");
    }
    assert_eq!(timeout(&HeaderMap::new()), None);
}
