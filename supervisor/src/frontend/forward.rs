//! Headers that become parameters of a request.

use nereid_core::error::ServeError;
use regex::{Regex, RegexBuilder};

use crate::serve::request::ParameterValue;

/// Names with a meaning of their own, which no header may take.
const RESERVED: [&str; 7] =
    ["sequence_id", "sequence_start", "sequence_end", "priority", "timeout", "headers", "binary_data_output"];
/// Parameters that start so steer the server.
pub(crate) const RESERVED_PREFIX: &str = "triton_";
/// A pattern may compile to this many bytes.
const PATTERN_SIZE_MAX: usize = 1 << 20;

/// Which headers are forwarded: those whose name the pattern matches somewhere, whatever the case.
#[derive(Clone, Debug)]
pub struct ForwardPattern(Regex);

impl ForwardPattern {
    /// Compiles a pattern; `(?-i)` at its start makes it care for case.
    pub fn new(pattern: &str) -> Result<Self, regex::Error> {
        RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_SIZE_MAX).build().map(Self)
    }

    /// Appends every header that matches to `parameters`.
    pub(crate) fn forward<'a>(
        &self,
        headers: impl Iterator<Item = (&'a str, &'a [u8])>,
        parameters: &mut Vec<(String, ParameterValue)>,
    ) -> Result<(), ServeError> {
        for (name, value) in headers {
            if !self.0.is_match(name) {
                continue;
            }
            if RESERVED.contains(&name) || name.starts_with(RESERVED_PREFIX) {
                return Err(ServeError::invalid(format!(
                    "Header '{name}' is reserved for Triton usage and cannot be forwarded."
                )));
            }
            let value = String::from_utf8_lossy(value).into_owned();
            parameters.push((name.to_owned(), ParameterValue::String(value)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
