use super::*;

#[test]
fn both_formats_go_there_and_back_under_either_name() {
    let text = Bytes::from(vec![b'a'; 100_000]);
    for encoding in [Encoding::Gzip, Encoding::Deflate] {
        let packed = compress(encoding, [&text, &Bytes::from_static(b"tail")]).unwrap();
        assert!(packed.len() < 1000);
        let back = decompress(&packed, 200_000).unwrap();
        assert_eq!(back.len(), 100_004);
        assert!(back.ends_with(b"tail"));
    }
}

#[test]
fn a_bomb_is_stopped_at_the_limit() {
    let packed = compress(Encoding::Gzip, [&Bytes::from(vec![0; 1 << 20])]).unwrap();
    assert!(decompress(&packed, 1 << 20).is_ok());
    assert_eq!(
        decompress(&packed, (1 << 20) - 1).unwrap_err().message,
        "Decompressed data size exceeds the maximum allowed value of 1048575 bytes. Use --http-max-input-size to \
         increase the limit."
    );
}

#[test]
fn what_is_not_packed_is_an_error() {
    assert!(decompress(b"plain text", 100).is_err());
    let packed = compress(Encoding::Gzip, [&Bytes::from_static(b"text")]).unwrap();
    assert!(decompress(&packed[..packed.len() - 5], 100).is_err());
}

#[test]
fn the_encoding_of_a_request_is_spelled_exactly() {
    assert_eq!(Encoding::of_request(None), Ok(Encoding::Identity));
    assert_eq!(Encoding::of_request(Some(b"identity")), Ok(Encoding::Identity));
    assert_eq!(Encoding::of_request(Some(b"gzip")), Ok(Encoding::Gzip));
    assert_eq!(Encoding::of_request(Some(b"deflate")), Ok(Encoding::Deflate));
    for other in [&b"GZIP"[..], b"br", b"gzip, deflate"] {
        assert_eq!(Encoding::of_request(Some(other)).unwrap_err().message, "Unsupported compression type");
    }
}

#[test]
fn the_greatest_weight_wins_and_the_first_of_equals() {
    for (header, encoding) in [
        ("", Encoding::Identity),
        ("gzip", Encoding::Gzip),
        ("deflate, gzip", Encoding::Deflate),
        ("gzip, deflate", Encoding::Gzip),
        ("gzip;q=0.3, deflate;q=0.7", Encoding::Deflate),
        ("identity, gzip", Encoding::Identity),
        ("gzip;q=0", Encoding::Identity),
        ("gzip;q=many", Encoding::Identity),
        ("*", Encoding::Identity),
        ("br, gzip;q=0.1", Encoding::Gzip),
    ] {
        assert_eq!(Encoding::accepted(Some(header)), encoding, "{header}");
    }
    assert_eq!(Encoding::accepted(None), Encoding::Identity);
}
