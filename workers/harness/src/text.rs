//! A bound for every text that a worker sends, since models put whole tracebacks and data sets into them.

/// The longest text in bytes; the rest of a longer one is cut off.
pub(crate) const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Cuts a text at the last character that fits.
pub(crate) fn cut(mut text: String) -> String {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

#[cfg(test)]
mod tests;
