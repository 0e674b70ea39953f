//! The version of a model as clients write it.

use nereid_core::error::ServeError;

/// The version that `text` asks for; none for an empty text, which leaves the choice to the version policy.
///
/// As lenient as the C library function that clients of Triton meet: white space before the number and anything after
/// it are skipped.
pub(crate) fn parse(text: &str) -> Result<Option<i64>, ServeError> {
    if text.is_empty() {
        return Ok(None);
    }
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let digits_at = usize::from(trimmed.starts_with(['-', '+']));
    let length = trimmed.bytes().skip(digits_at).take_while(u8::is_ascii_digit).count();
    let Ok(version) = trimmed[..digits_at + length].parse::<i64>() else {
        return Err(ServeError::invalid(format!(
            "failed to get model version from specified version string '{text}' (details: stol), version should be \
             an integral value > 0"
        )));
    };
    if version < 0 {
        return Err(ServeError::invalid(format!(
            "invalid model version specified '{text}' , version should be an integral value > 0"
        )));
    }
    Ok(Some(version))
}

#[cfg(test)]
mod tests;
