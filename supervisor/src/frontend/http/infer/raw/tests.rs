use super::*;
use bytes::Bytes;

use crate::frontend::fake;

fn tensor(model: &str, body: &'static [u8]) -> Result<InputTensor, ServeError> {
    input(&fake::config(model).unwrap(), &Rope::from(Bytes::from_static(body)))
}

#[test]
fn an_open_dimension_follows_from_the_length() {
    let tensor = tensor("identity", &[0; 12]).unwrap();
    assert_eq!((tensor.name.as_str(), tensor.shape), ("INPUT0", vec![3]));
    assert_eq!(tensor.data.len(), 12);
}

#[test]
fn a_string_gets_its_length() {
    assert_eq!(crate::frontend::rope::joined(&tensor("string", b"abc").unwrap().data), b"\x03\0\0\0abc"[..]);
}

#[test]
fn an_empty_body_is_an_empty_tensor() {
    assert_eq!(tensor("identity", b"").unwrap().shape, [0]);
}

#[test]
fn what_cannot_be_deduced_is_refused() {
    for model in ["pair", "open"] {
        assert!(tensor(model, b"abcd").is_err());
    }
}
