//! Values of a checked document, read where they lie, with the error texts of Triton's accessors.
//!
//! A [`Value`] is the text of exactly one value that [`super::scan`] has walked over; reading it again cannot find a
//! fault in the grammar. Members are looked up by walking, so keep large values (tensors) out of objects that are
//! searched: the request parser picks those apart in one pass.

use std::borrow::Cow;

use nereid_core::error::ServeError;

use super::number;
use super::scan::Scanner;
#[cfg(test)]
use super::scan::SyntaxError;

/// One value of a checked document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    text: &'a [u8],
}

fn mismatch(what: &str, wanted: &str) -> ServeError {
    ServeError::internal(format!("attempt to access JSON non-{what} as {wanted}"))
}

/// The error of a member that is not there.
pub(crate) fn missing_member(name: &str) -> ServeError {
    ServeError::internal(format!("attempt to access non-existing object member '{name}'"))
}

/// Puts "Unable to parse 'name'" before an accessor's text.
pub(crate) fn unable_to_parse(name: &str) -> impl Fn(ServeError) -> ServeError + Copy + '_ {
    move |error| ServeError { message: format!("Unable to parse '{name}': {}", error.message), ..error }
}

impl<'a> Value<'a> {
    /// `text` must be what [`Scanner::value`] returned.
    pub(crate) const fn from_scanned(text: &'a [u8]) -> Self {
        Self { text }
    }

    /// Checks a whole document.
    #[cfg(test)]
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, SyntaxError> {
        let mut scanner = Scanner::new(text);
        scanner.begin()?;
        let value = scanner.value()?;
        scanner.end()?;
        Ok(Self { text: value })
    }

    pub(crate) const fn text(self) -> &'a [u8] {
        self.text
    }

    fn first(self) -> u8 {
        self.text.first().copied().unwrap_or_default()
    }

    pub(crate) fn is_object(self) -> bool {
        self.first() == b'{'
    }

    pub(crate) fn is_array(self) -> bool {
        self.first() == b'['
    }

    pub(crate) fn is_string(self) -> bool {
        self.first() == b'"'
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self.first(), b'-' | b'0'..=b'9' | b'N' | b'I')
    }

    pub(crate) fn as_bool(self) -> Result<bool, ServeError> {
        match self.text {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(mismatch("boolean", "boolean")),
        }
    }

    pub(crate) fn as_unsigned(self) -> Result<u64, ServeError> {
        number::parse_unsigned(self.text).ok_or_else(|| mismatch("unsigned-integer", "unsigned-integer"))
    }

    pub(crate) fn as_signed(self) -> Result<i64, ServeError> {
        number::parse_signed(self.text).ok_or_else(|| mismatch("signed-integer", "signed-integer"))
    }

    pub(crate) fn as_double(self) -> Result<f64, ServeError> {
        if !self.is_number() {
            return Err(mismatch("number", "double"));
        }
        let value = number::parse_double(self.text);
        if number::is_too_big(self.text, value) {
            return Err(ServeError::internal("Number too big to be stored in double."));
        }
        Ok(value)
    }

    /// The bytes of a string.
    pub(crate) fn as_bytes(self) -> Result<Cow<'a, [u8]>, ServeError> {
        if self.is_string() { Ok(unescape(self.text)) } else { Err(mismatch("string", "string")) }
    }

    /// A string, cut at a NUL as names and ids always are. What is not UTF-8 becomes U+FFFD, which names nothing.
    pub(crate) fn as_name(self) -> Result<String, ServeError> {
        let bytes = self.as_bytes()?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// The elements of an array.
    pub(crate) fn elements(self) -> Result<Elements<'a>, ServeError> {
        if !self.is_array() {
            return Err(mismatch("array", "array"));
        }
        Ok(Elements(Walk::new(self.text, b']')))
    }

    /// The members of an object, by name and value.
    pub(crate) fn members(self) -> Result<Members<'a>, ServeError> {
        if !self.is_object() {
            return Err(ServeError::internal("attempt to get members for non-object"));
        }
        Ok(Members(Walk::new(self.text, b'}')))
    }

    /// The first member of that name; none if this is no object.
    pub(crate) fn find(self, name: &str) -> Option<Self> {
        self.members().ok()?.find(|(key, _)| key.as_ref() == name.as_bytes()).map(|(_, value)| value)
    }
}

/// The insides of a container, one by one.
#[derive(Debug)]
struct Walk<'a> {
    scanner: Scanner<'a>,
    over: bool,
}

impl<'a> Walk<'a> {
    fn new(text: &'a [u8], close: u8) -> Self {
        let mut scanner = Scanner::new(text);
        if !scanner.take(b'[') {
            scanner.take(b'{');
        }
        scanner.space();
        let over = scanner.take(close);
        Self { scanner, over }
    }
}

/// See [`Value::elements`].
#[derive(Debug)]
pub(crate) struct Elements<'a>(Walk<'a>);

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let walk = &mut self.0;
        if walk.over {
            return None;
        }
        let value = walk.scanner.value().ok()?;
        walk.over = !walk.scanner.next_element().ok()?;
        Some(Value::from_scanned(value))
    }
}

/// See [`Value::members`].
#[derive(Debug)]
pub(crate) struct Members<'a>(Walk<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, [u8]>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let walk = &mut self.0;
        if walk.over {
            return None;
        }
        let name = walk.scanner.member_name().ok()?;
        let value = walk.scanner.value().ok()?;
        walk.over = !walk.scanner.next_member().ok()?;
        Some((unescape(name), Value::from_scanned(value)))
    }
}

/// The bytes that a scanned string, given with its quotation marks, stands for.
pub(crate) fn unescape(quoted: &[u8]) -> Cow<'_, [u8]> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains(&b'\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = Vec::with_capacity(inner.len());
    unescape_into(inner, &mut out);
    Cow::Owned(out)
}

/// Appends the bytes that the inside of a scanned string stands for.
pub(crate) fn unescape_into(mut inner: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = inner.iter().position(|&byte| byte == b'\\') {
        out.extend_from_slice(&inner[..at]);
        let escape = inner.get(at + 1).copied().unwrap_or_default();
        inner = inner.get(at + 2..).unwrap_or_default();
        match escape {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let (first, rest) = unit(inner);
                let (point, rest) = if (0xd800..0xdc00).contains(&first) {
                    // The scanner has seen the second half.
                    let (second, rest) = unit(rest.get(2..).unwrap_or_default());
                    (0x10000 + ((first & 0x3ff) << 10 | second & 0x3ff), rest)
                } else {
                    (first, rest)
                };
                let scalar = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(scalar.encode_utf8(&mut [0; 4]).as_bytes());
                inner = rest;
            }
            other => out.push(other),
        }
    }
    out.extend_from_slice(inner);
}

/// Four hexadecimal digits and what follows them.
fn unit(text: &[u8]) -> (u32, &[u8]) {
    let (digits, rest) = text.split_at(text.len().min(4));
    let value =
        digits.iter().fold(0, |value, &byte| value << 4 | char::from(byte).to_digit(16).unwrap_or_default());
    (value, rest)
}
