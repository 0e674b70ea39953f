//! Walks over the bytes of a string tensor: each element is its length in four bytes, little-endian, and its text.

/// Bytes of an element's length.
const LENGTH: usize = 4;

/// Why bytes are not the strings that the shape promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    IncompleteLength {
        available: usize,
    },
    /// Counted up to the first that is too many.
    TooMany {
        found: u64,
        expected: u64,
    },
    /// Counted are the complete ones.
    TooFew {
        found: u64,
        expected: u64,
    },
}

/// Checks that `bytes` hold exactly so many strings.
pub(super) fn check(bytes: &[u8], expected: u64) -> Result<(), Malformed> {
    let mut rest = bytes;
    let mut found = 0;
    while !rest.is_empty() {
        let Some((length, after)) = rest.split_first_chunk::<LENGTH>() else {
            return Err(Malformed::IncompleteLength { available: rest.len() });
        };
        if found == expected {
            return Err(Malformed::TooMany { found: found + 1, expected });
        }
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((_, after)) = after.split_at_checked(length) else {
            break;
        };
        found += 1;
        rest = after;
    }
    if found == expected && rest.is_empty() { Ok(()) } else { Err(Malformed::TooFew { found, expected }) }
}

#[cfg(test)]
mod tests;
