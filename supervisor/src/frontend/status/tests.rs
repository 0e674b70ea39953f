use std::time::Duration;

use nereid_core::error::{ErrorKind, ServeError};

use super::{codes, grpc};

#[test]
fn every_kind_has_the_codes_that_clients_of_triton_expect() {
    let table = [
        (ErrorKind::Unknown, 400, 2),
        (ErrorKind::Internal, 500, 13),
        (ErrorKind::NotFound, 404, 5),
        (ErrorKind::InvalidArgument, 400, 3),
        (ErrorKind::Unavailable, 503, 14),
        (ErrorKind::Unsupported, 501, 12),
        (ErrorKind::AlreadyExists, 400, 6),
        (ErrorKind::Cancelled, 400, 1),
    ];
    for (kind, http, grpc) in table {
        let (status, code) = codes(kind);
        assert_eq!((status.as_u16(), code as i32), (http, grpc), "{kind:?}");
    }
}

#[test]
fn a_hint_when_to_try_again_goes_into_the_trailers_in_whole_seconds() {
    let error = ServeError::unavailable("x").retry_after(Duration::from_millis(1500));
    assert_eq!(grpc(error).metadata().get("retry-after").unwrap(), "2");
    assert!(grpc(ServeError::unavailable("x")).metadata().is_empty());
    let soon = ServeError::unavailable("x").retry_after(Duration::ZERO);
    assert_eq!(soon.retry_after_seconds(), Some(1));
}
