use super::*;
use crate::frontend::rope::Rope;
use bytes::Bytes;

fn length(header: &str, body: usize) -> Result<usize, String> {
    json_length(Some(header.as_bytes()), body).map_err(|error| error.message)
}

#[test]
fn without_the_header_all_is_json() {
    assert_eq!(json_length(None, 17), Ok(17));
}

#[test]
fn the_header_is_read_as_leniently_as_clients_know_it() {
    assert_eq!(length("12", 20), Ok(12));
    assert_eq!(length(" 12 bytes", 20), Ok(12));
    assert_eq!(length("0", 20), Ok(0));
}

#[test]
fn a_header_that_cannot_be_is_refused() {
    for (header, message) in [
        ("x", "Unable to parse Inference-Header-Content-Length, got: x"),
        (
            "99999999999",
            "Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: \
             99999999999",
        ),
        ("21", "inference header size should be in range (0, 20), got: 21"),
        ("-1", "inference header size should be in range (0, 20), got: -1"),
    ] {
        assert_eq!(length(header, 20).unwrap_err(), message);
    }
}

#[test]
fn tensors_are_cut_in_order_and_what_is_missing_is_counted() {
    let mut cutter = Cutter::new(Rope::from(Bytes::from_static(b"abcdef")).into_reader());
    assert_eq!(cutter.cut(2).unwrap().as_slice(), Some(&b"ab"[..]));
    assert!(cutter.cut(0).unwrap().is_empty());
    assert_eq!(cutter.cut(u64::MAX).unwrap_err(), u64::MAX - 4);
    assert_eq!(cutter.cut(5).unwrap_err(), 1);
    assert!(!cutter.is_used_up());
    assert_eq!(cutter.cut(4).unwrap().as_slice(), Some(&b"cdef"[..]));
    assert!(cutter.is_used_up());
}
