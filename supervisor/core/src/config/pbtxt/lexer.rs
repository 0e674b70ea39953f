//! Splits protobuf text into tokens. It knows nothing of fields or types.

use super::ParseError;
use std::fmt;

/// A piece of text, and where it begins (in bytes).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) start: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    Identifier(&'a str),
    /// As written, without a sign: `12`, `0x1f`, `1.5e3f`.
    Number(&'a str),
    /// A quoted string with its escapes resolved.
    Text(Vec<u8>),
    Symbol(char),
    End,
}

impl fmt::Display for TokenKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identifier(text) | Self::Number(text) => write!(f, "'{text}'"),
            Self::Text(text) => write!(f, "the string \"{}\"", text.escape_ascii()),
            Self::Symbol(symbol) => write!(f, "'{symbol}'"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(super) fn error_at(&self, position: usize, message: impl Into<String>) -> ParseError {
        ParseError::at(self.text, position, message)
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, ParseError> {
        self.skip_blanks();
        let start = self.position;
        let kind = match self.peek_byte(0) {
            None => TokenKind::End,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => TokenKind::Identifier(self.word()),
            Some(b'0'..=b'9') => TokenKind::Number(self.number()),
            Some(b'.') if self.peek_byte(1).is_some_and(|byte| byte.is_ascii_digit()) => {
                TokenKind::Number(self.number())
            }
            Some(quote @ (b'"' | b'\'')) => TokenKind::Text(self.quoted(quote)?),
            Some(
                byte @ (b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b':' | b',' | b';' | b'-' | b'.' | b'/'),
            ) => {
                self.position += 1;
                TokenKind::Symbol(char::from(byte))
            }
            Some(_) => {
                let found = self.text[start..].chars().next().unwrap_or_default();
                return Err(
                    self.error_at(start, format!("unexpected character '{}'", found.escape_default()))
                );
            }
        };
        Ok(Token { kind, start })
    }

    fn peek_byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.position + ahead).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek_byte(0) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.position += 1,
                b'#' => {
                    let rest = &self.text[self.position..];
                    self.position += rest.find('\n').unwrap_or(rest.len());
                }
                _ => break,
            }
        }
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) -> &'a str {
        let start = self.position;
        while self.peek_byte(0).is_some_and(&keep) {
            self.position += 1;
        }
        &self.text[start..self.position]
    }

    fn word(&mut self) -> &'a str {
        self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// Takes all that can belong to a number, so that `1x` is one wrong number and not a number and a name.
    fn number(&mut self) -> &'a str {
        let start = self.position;
        let hexadecimal = matches!((self.peek_byte(0), self.peek_byte(1)), (Some(b'0'), Some(b'x' | b'X')));
        loop {
            self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_');
            let exponent = self.text[start..self.position].ends_with(['e', 'E']) && !hexadecimal;
            if exponent && matches!(self.peek_byte(0), Some(b'+' | b'-')) {
                self.position += 1;
            } else {
                return &self.text[start..self.position];
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>, ParseError> {
        let start = self.position;
        self.position += 1;
        let mut text = Vec::new();
        loop {
            match self.peek_byte(0) {
                None | Some(b'\n') => {
                    return Err(self.error_at(start, "the string is not closed on its line"));
                }
                Some(b'\\') => self.escape(&mut text)?,
                Some(byte) => {
                    self.position += 1;
                    if byte == quote {
                        return Ok(text);
                    }
                    text.push(byte);
                }
            }
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), ParseError> {
        let start = self.position;
        self.position += 2;
        let simple = match self.text.as_bytes().get(start + 1) {
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 0x0b,
            Some(literal @ (b'?' | b'\\' | b'\'' | b'"')) => *literal,
            Some(b'0'..=b'7') => {
                self.position -= 1;
                return self.numbered(start, 8, 3).map(|byte| text.push(byte));
            }
            Some(b'x' | b'X') => return self.numbered(start, 16, 2).map(|byte| text.push(byte)),
            Some(b'u') => return self.unicode(start, 4, text),
            Some(b'U') => return self.unicode(start, 8, text),
            _ => return Err(self.error_at(start, "unknown escape in a string; write '\\\\' for a backslash")),
        };
        text.push(simple);
        Ok(())
    }

    /// Up to `most` digits that name a byte.
    fn numbered(&mut self, start: usize, radix: u32, most: usize) -> Result<u8, ParseError> {
        let digits = self.digits(radix, most);
        u8::from_str_radix(digits, radix)
            .map_err(|_| self.error_at(start, "the escape in the string names no byte (0 to 255)"))
    }

    /// Exactly `count` digits that name a character.
    fn unicode(&mut self, start: usize, count: usize, text: &mut Vec<u8>) -> Result<(), ParseError> {
        let digits = self.digits(16, count);
        let named = if digits.len() == count { u32::from_str_radix(digits, 16).ok() } else { None };
        let character = named.and_then(char::from_u32).ok_or_else(|| {
            self.error_at(start, format!("the escape needs {count} digits that name a character"))
        })?;
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn digits(&mut self, radix: u32, most: usize) -> &'a str {
        let start = self.position;
        while self.position - start < most
            && self.peek_byte(0).is_some_and(|byte| char::from(byte).is_digit(radix))
        {
            self.position += 1;
        }
        &self.text[start..self.position]
    }
}
