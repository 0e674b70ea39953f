//! Appends JSON strings to a buffer. Numbers: [`super::number`].

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends `bytes` as a JSON string. What is not UTF-8 passes through as it is: BYTES tensors hold bytes.
pub(crate) fn write_string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' | b'\\' => byte,
            8 => b'b',
            9 => b't',
            10 => b'n',
            12 => b'f',
            13 => b'r',
            0..0x20 => b'u',
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'0', b'0', high, low]);
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

/// Appends the values of `items` as an array, each by `write`.
pub(crate) fn write_array<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}
