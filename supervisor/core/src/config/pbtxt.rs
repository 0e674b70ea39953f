//! Reads `config.pbtxt`: protobuf's text format, driven by the descriptor of the configuration.
//!
//! Everything that the format allows in such a file is understood: lists (also of messages, without a colon before
//! them), both kinds of brackets, `,` and `;` between fields, comments, strings in pieces, every escape, octal and
//! hexadecimal numbers. Unknown fields, fields given twice and two members of a oneof are errors, all with line and
//! column. Deliberately not here: extensions and `Any`, which a configuration has not; and any check of what the
//! values mean.

mod lexer;

use super::RawConfig;
use super::schema;
use lexer::{Lexer, Token, TokenKind};
use prost_reflect::{
    DynamicMessage, EnumDescriptor, EnumValueDescriptor, FieldDescriptor, Kind, MessageDescriptor,
    ReflectMessage as _, Value,
};
use std::fmt;

/// The longest text that is read.
pub const MAX_TEXT: usize = 16 << 20;
/// How deep messages may lie in each other. The schema itself needs seven.
const MAX_DEPTH: u32 = 32;

/// Why a text is no configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    pub message: String,
}

impl ParseError {
    fn at(text: &str, position: usize, message: impl Into<String>) -> Self {
        let before = text.get(..position).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The configuration that a text holds, exactly as written: no defaults are filled in.
pub fn parse(text: &str) -> Result<RawConfig, ParseError> {
    if text.len() > MAX_TEXT {
        let message = format!("the text has {} bytes; at most {MAX_TEXT} are read", text.len());
        return Err(ParseError { line: 1, column: 1, message });
    }
    // A byte order mark is not part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser = Parser { lexer, token };
    let mut message = DynamicMessage::new(schema::descriptor());
    parser.fields(&mut message, &TokenKind::End, 0)?;
    Ok(schema::from_dynamic(&message))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The one that is looked at next.
    token: Token<'a>,
}

impl<'a> Parser<'a> {
    fn advance(&mut self) -> Result<Token<'a>, ParseError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn at(&self, symbol: char) -> bool {
        self.token.kind == TokenKind::Symbol(symbol)
    }

    fn accept(&mut self, symbol: char) -> Result<bool, ParseError> {
        let found = self.at(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        self.lexer.error_at(self.token.start, message)
    }

    fn expected<T>(&self, wanted: &str) -> Result<T, ParseError> {
        Err(self.error(format!("expected {wanted}, found {}", self.token.kind)))
    }

    /// The fields of one message, up to and with what ends it.
    fn fields(
        &mut self,
        message: &mut DynamicMessage,
        end: &TokenKind<'_>,
        depth: u32,
    ) -> Result<(), ParseError> {
        let mut seen = Vec::new();
        loop {
            if self.token.kind == *end {
                if *end != TokenKind::End {
                    self.advance()?;
                }
                return Ok(());
            }
            let start = self.token.start;
            let TokenKind::Identifier(name) = self.token.kind else {
                return self.expected(&format!("a field's name or {end}"));
            };
            let field = self.field(&message.descriptor(), name)?;
            self.check_once(&field, &seen, start)?;
            seen.push(field.number());
            self.advance()?;
            let colon = self.accept(':')?;
            if !colon && !matches!(field.kind(), Kind::Message(_)) {
                return self.expected(&format!("':' after '{name}'"));
            }
            self.values(message, &field, depth)?;
            if self.at(',') || self.at(';') {
                self.advance()?;
            }
        }
    }

    fn field(&self, desc: &MessageDescriptor, name: &str) -> Result<FieldDescriptor, ParseError> {
        desc.get_field_by_name(name).ok_or_else(|| {
            let known: Vec<FieldDescriptor> = desc.fields().collect();
            let hint = schema::suggestion(name, known.iter().map(FieldDescriptor::name));
            self.error(format!("{} has no field named '{name}'{hint}", schema::short_name(desc)))
        })
    }

    fn check_once(&self, field: &FieldDescriptor, seen: &[u32], start: usize) -> Result<(), ParseError> {
        if field.is_list() || field.is_map() {
            return Ok(());
        }
        if seen.contains(&field.number()) {
            return Err(self.lexer.error_at(start, format!("'{}' is given twice", field.name())));
        }
        if let Some(rival) = schema::oneof_rival(field, seen) {
            let message = format!("'{}' and '{rival}' exclude each other", field.name());
            return Err(self.lexer.error_at(start, message));
        }
        Ok(())
    }

    /// A value, or a list of them in brackets.
    fn values(
        &mut self,
        message: &mut DynamicMessage,
        field: &FieldDescriptor,
        depth: u32,
    ) -> Result<(), ParseError> {
        if !self.at('[') {
            return self.value_into(message, field, depth);
        }
        if !field.is_list() && !field.is_map() {
            return Err(self.error(format!("'{}' takes one value, not a list", field.name())));
        }
        self.advance()?;
        if self.accept(']')? {
            return Ok(());
        }
        loop {
            self.value_into(message, field, depth)?;
            if self.accept(']')? {
                return Ok(());
            }
            if !self.accept(',')? {
                return self.expected("',' or ']'");
            }
        }
    }

    fn value_into(
        &mut self,
        message: &mut DynamicMessage,
        field: &FieldDescriptor,
        depth: u32,
    ) -> Result<(), ParseError> {
        let value = self.value(field, depth)?;
        if field.is_list() {
            if let Some(list) = message.get_field_mut(field).as_list_mut() {
                list.push(value);
            }
        } else if field.is_map() {
            let entry = value.as_message().and_then(|entry| {
                let key = schema::map_key(entry.get_field_by_number(1)?.into_owned())?;
                Some((key, entry.get_field_by_number(2)?.into_owned()))
            });
            if let (Some((key, value)), Some(map)) = (entry, message.get_field_mut(field).as_map_mut()) {
                map.insert(key, value);
            }
        } else {
            message.set_field(field, value);
        }
        Ok(())
    }

    fn value(&mut self, field: &FieldDescriptor, depth: u32) -> Result<Value, ParseError> {
        match field.kind() {
            Kind::Message(desc) => self.message(desc, depth),
            Kind::Enum(desc) => self.enumeration(field.name(), &desc).map(Value::EnumNumber),
            Kind::String => self.string().map(Value::String),
            Kind::Bool => self.boolean().map(Value::Bool),
            #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
            Kind::Float => self.float().map(|value| Value::F32(value as f32)),
            Kind::Double => self.float().map(Value::F64),
            Kind::Int32 => self.integer("a 32-bit integer").map(Value::I32),
            Kind::Uint32 => self.integer("an unsigned 32-bit integer").map(Value::U32),
            Kind::Int64 => self.integer("a 64-bit integer").map(Value::I64),
            Kind::Uint64 => self.integer("an unsigned 64-bit integer").map(Value::U64),
            other => {
                Err(self
                    .error(format!("'{}' has a kind that is not read from text: {other:?}", field.name())))
            }
        }
    }

    /// An enum's value by its exact name, or by its number.
    fn enumeration(&mut self, field: &str, desc: &EnumDescriptor) -> Result<i32, ParseError> {
        if let TokenKind::Identifier(name) = self.token.kind {
            let value = desc.get_value_by_name(name).ok_or_else(|| {
                let known: Vec<_> = desc.values().collect();
                let hint = schema::suggestion(name, known.iter().map(EnumValueDescriptor::name));
                self.error(format!("'{field}' has no value '{name}'{hint}"))
            })?;
            self.advance()?;
            return Ok(value.number());
        }
        let start = self.token.start;
        let number = self.integer("a 32-bit integer")?;
        if desc.get_value(number).is_none() {
            return Err(self.lexer.error_at(start, format!("'{field}' has no value numbered {number}")));
        }
        Ok(number)
    }

    fn message(&mut self, desc: MessageDescriptor, depth: u32) -> Result<Value, ParseError> {
        if depth == MAX_DEPTH {
            return Err(self.error(format!("messages lie more than {MAX_DEPTH} deep in each other")));
        }
        let end = match self.token.kind {
            TokenKind::Symbol('{') => '}',
            TokenKind::Symbol('<') => '>',
            _ => return self.expected("'{'"),
        };
        self.advance()?;
        let mut message = DynamicMessage::new(desc);
        self.fields(&mut message, &TokenKind::Symbol(end), depth + 1)?;
        Ok(Value::Message(message))
    }

    /// One or more quoted pieces.
    fn string(&mut self) -> Result<String, ParseError> {
        let start = self.token.start;
        if !matches!(self.token.kind, TokenKind::Text(_)) {
            return self.expected("a string in quotes");
        }
        let mut text = Vec::new();
        while let TokenKind::Text(piece) = &self.token.kind {
            text.extend_from_slice(piece);
            self.advance()?;
        }
        String::from_utf8(text).map_err(|_| self.lexer.error_at(start, "the string is not valid UTF-8"))
    }

    fn boolean(&mut self) -> Result<bool, ParseError> {
        let value = match &self.token.kind {
            TokenKind::Identifier("true" | "True" | "t") => true,
            TokenKind::Identifier("false" | "False" | "f") => false,
            TokenKind::Number(number) => match magnitude(number) {
                Some(0) => false,
                Some(1) => true,
                _ => return self.expected("'true' or 'false'"),
            },
            _ => return self.expected("'true' or 'false'"),
        };
        self.advance()?;
        Ok(value)
    }

    fn integer<T: TryFrom<i128>>(&mut self, wanted: &str) -> Result<T, ParseError> {
        let start = self.token.start;
        let negative = self.accept('-')?;
        let TokenKind::Number(text) = self.token.kind else {
            return self.expected(wanted);
        };
        let Some(magnitude) = magnitude(text).map(i128::from) else {
            return self.expected(wanted);
        };
        let number = if negative { -magnitude } else { magnitude };
        let fits = T::try_from(number)
            .map_err(|_| self.lexer.error_at(start, format!("{number} is no value of {wanted}")))?;
        self.advance()?;
        Ok(fits)
    }

    fn float(&mut self) -> Result<f64, ParseError> {
        let negative = self.accept('-')?;
        let number = match self.token.kind {
            TokenKind::Number(text) => {
                let text = text.strip_suffix(['f', 'F']).unwrap_or(text);
                let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
                text.parse::<f64>().ok().filter(|_| plain)
            }
            TokenKind::Identifier(word) if matches_any(word, &["inf", "infinity"]) => Some(f64::INFINITY),
            TokenKind::Identifier(word) if matches_any(word, &["nan"]) => Some(f64::NAN),
            _ => None,
        };
        let Some(number) = number else {
            return self.expected("a number");
        };
        self.advance()?;
        Ok(if negative { -number } else { number })
    }
}

fn matches_any(word: &str, names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// The value of an unsigned literal: decimal, `0x` hexadecimal, or octal with a leading zero.
fn magnitude(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // `from_str_radix` would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests;
