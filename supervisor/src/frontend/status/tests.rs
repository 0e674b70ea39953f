use super::codes;
use nereid_core::error::ErrorKind;

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
