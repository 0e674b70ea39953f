//! The JSON part of a request, picked apart in one pass without looking at the tensors' values.
//!
//! Checks the grammar of everything, keeps where each known member lies, and says nothing about what is missing or of
//! the wrong type: [`super::request`] does, in the order in which clients know the errors. The first of equal names
//! counts.

use nereid_core::error::ServeError;

use crate::frontend::http::json::scan::{Scanner, SyntaxError};
use crate::frontend::http::json::value::{Value, missing_member, unescape};

/// Inputs, or outputs, of one request. No model has as many.
pub(crate) const TENSORS_MAX: usize = 4096;

/// Known members of a request.
#[derive(Debug, Default)]
pub(crate) struct Document<'a> {
    pub(crate) id: Option<Value<'a>>,
    pub(crate) parameters: Option<Value<'a>>,
    pub(crate) inputs: Inputs<'a>,
    pub(crate) outputs: Option<Value<'a>>,
}

/// The member `inputs`.
#[derive(Debug, Default)]
pub(crate) enum Inputs<'a> {
    #[default]
    Missing,
    NotAnArray,
    TooMany,
    Some(Vec<Input<'a>>),
}

/// Known members of an input. All are missing in what is no object.
#[derive(Debug, Default)]
pub(crate) struct Input<'a> {
    pub(crate) name: Option<Value<'a>>,
    pub(crate) datatype: Option<Value<'a>>,
    pub(crate) shape: Option<Value<'a>>,
    pub(crate) data: Option<Value<'a>>,
    pub(crate) parameters: Option<Value<'a>>,
}

impl<'a> Inputs<'a> {
    /// The inputs, or what is wrong with the member.
    pub(crate) fn get(&self) -> Result<&[Input<'a>], ServeError> {
        match self {
            Self::Some(inputs) => Ok(inputs),
            Self::Missing => Err(missing_member("inputs")),
            Self::NotAnArray => Err(ServeError::internal("attempt to access JSON non-array as array")),
            Self::TooMany => {
                Err(ServeError::invalid(format!("a request may have {TENSORS_MAX} inputs at most")))
            }
        }
    }
}

impl<'a> Document<'a> {
    /// Picks a request apart.
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, SyntaxError> {
        let mut scanner = Scanner::new(text);
        let mut document = Self::default();
        scanner.begin()?;
        members(&mut scanner, |name, scanner| {
            match name {
                b"inputs" if matches!(document.inputs, Inputs::Missing) => document.inputs = inputs(scanner)?,
                b"id" => keep_first(&mut document.id, scanner)?,
                b"parameters" => keep_first(&mut document.parameters, scanner)?,
                b"outputs" => keep_first(&mut document.outputs, scanner)?,
                _ => {
                    scanner.value()?;
                }
            }
            Ok(())
        })?;
        scanner.end()?;
        Ok(document)
    }
}

fn keep_first<'a>(member: &mut Option<Value<'a>>, scanner: &mut Scanner<'a>) -> Result<(), SyntaxError> {
    let value = Value::from_scanned(scanner.value()?);
    member.get_or_insert(value);
    Ok(())
}

/// Hands each member's name to `each`, which steps over the value. Steps over a value that is no object.
fn members<'a>(
    scanner: &mut Scanner<'a>,
    mut each: impl FnMut(&[u8], &mut Scanner<'a>) -> Result<(), SyntaxError>,
) -> Result<(), SyntaxError> {
    scanner.space();
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        return Ok(());
    }
    scanner.take(b'{');
    scanner.space();
    if scanner.take(b'}') {
        return Ok(());
    }
    loop {
        let name = scanner.member_name()?;
        each(&unescape(name), scanner)?;
        if !scanner.next_member()? {
            return Ok(());
        }
    }
}

fn inputs<'a>(scanner: &mut Scanner<'a>) -> Result<Inputs<'a>, SyntaxError> {
    scanner.space();
    if scanner.peek() != Some(b'[') {
        scanner.value()?;
        return Ok(Inputs::NotAnArray);
    }
    scanner.take(b'[');
    scanner.space();
    let mut inputs = Vec::new();
    let mut more = !scanner.take(b']');
    let mut too_many = false;
    while more {
        let input = input(scanner)?;
        too_many |= inputs.len() == TENSORS_MAX;
        if !too_many {
            inputs.push(input);
        }
        more = scanner.next_element()?;
    }
    Ok(if too_many { Inputs::TooMany } else { Inputs::Some(inputs) })
}

fn input<'a>(scanner: &mut Scanner<'a>) -> Result<Input<'a>, SyntaxError> {
    let mut input = Input::default();
    members(scanner, |name, scanner| {
        let member = match name {
            b"name" => &mut input.name,
            b"datatype" => &mut input.datatype,
            b"shape" => &mut input.shape,
            b"data" => &mut input.data,
            b"parameters" => &mut input.parameters,
            _ => {
                scanner.value()?;
                return Ok(());
            }
        };
        keep_first(member, scanner)
    })?;
    Ok(input)
}

#[cfg(test)]
mod tests;
