//! Tensors between JSON and memory.
//!
//! In memory a tensor is little-endian elements in row-major order; BYTES elements have a 4-byte little-endian length
//! before each. In a request `data` may be nested in any way, only the number of elements counts; in a response it is
//! flat.

use bytes::Bytes;
use nereid_core::error::ServeError;
use nereid_proto::inference::DataType;

use super::json::scan::Scanner;
use super::json::value::{Value, unable_to_parse, unescape_into};
use super::json::{number, write};
use crate::frontend::datatype;
use crate::serve::request::OutputTensor;

/// Arrays within arrays that `data` may have.
pub(crate) const NESTING_MAX: usize = 100;

/// How many elements a request's shape has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Elements(u64),
    /// A dimension that cannot be.
    Invalid,
    Overflow,
}

/// Counts as the protocol's first server does: no dimensions are no elements.
pub(crate) fn count(shape: &[i64]) -> Count {
    let mut count = i64::from(!shape.is_empty());
    for &dimension in shape {
        match dimension {
            0 => return Count::Elements(0),
            ..0 => return Count::Invalid,
            _ => match count.checked_mul(dimension) {
                Some(product) => count = product,
                None => return Count::Overflow,
            },
        }
    }
    u64::try_from(count).map_or(Count::Invalid, Count::Elements)
}

/// Decodes `data` of the input `name`, which has `elements` elements by its shape; refuses more than `size_max` bytes.
pub(crate) fn decode(
    name: &str,
    datatype: DataType,
    elements: u64,
    data: Value<'_>,
    size_max: u64,
) -> Result<Bytes, ServeError> {
    let too_large = |size: u64| {
        ServeError::invalid(format!(
            "JSON input '{name}' has a byte_size ({size} bytes) that exceeds the maximum allowed value of {size_max} \
             bytes. Use --http-max-input-size to increase the limit."
        ))
    };
    if datatype == DataType::TypeString {
        let size = strings_size(data)?;
        if size > size_max {
            return Err(too_large(size));
        }
        return decode_strings(data, size).map_err(unable_to_parse("data")).map(Bytes::from);
    }
    let element_size = datatype::byte_size(datatype).unwrap_or(0) as u64;
    let size = elements
        .checked_mul(element_size)
        .filter(|&size| i64::try_from(size).is_ok())
        .ok_or_else(|| size_overflow(name, elements, element_size))?;
    if size > size_max {
        return Err(too_large(size));
    }
    match datatype {
        DataType::TypeFp16 => return Err(not_in_json(name, "FP16")),
        DataType::TypeBf16 => return Err(not_in_json(name, "BF16")),
        DataType::TypeInvalid => {
            return Err(ServeError::invalid(format!("invalid datatype for input {name}")));
        }
        _ => {}
    }
    let size = usize::try_from(size).map_err(|_| too_large(size))?;
    let bytes = decode_numbers(datatype, data, size).map_err(unable_to_parse("data"))?;
    if bytes.len() == size {
        Ok(bytes.into())
    } else {
        Err(ServeError::internal("Failed to parse 'data' field: shape does not match true shape"))
    }
}

fn size_overflow(name: &str, elements: u64, element_size: u64) -> ServeError {
    ServeError::invalid(format!(
        "byte size overflow for input '{name}': element count ({elements}) * data type size ({element_size}) exceeds \
         maximum allowed size ({})",
        i64::MAX
    ))
}

fn not_in_json(name: &str, datatype: &str) -> ServeError {
    ServeError::invalid(format!(
        "receiving {datatype} data via JSON is not supported. Please use the binary data format for input {name}"
    ))
}

/// The values of nested arrays that are no arrays, in order.
struct Leaves<'a> {
    scanner: Scanner<'a>,
    depth: usize,
}

impl<'a> Leaves<'a> {
    const fn new(data: Value<'a>) -> Self {
        Self { scanner: Scanner::new(data.text()), depth: 0 }
    }

    fn next(&mut self) -> Result<Option<Value<'a>>, ServeError> {
        // The text is checked, so that only its brackets matter here.
        loop {
            let Some(byte) = self.scanner.peek() else { return Ok(None) };
            match byte {
                b',' | b' ' | b'\n' | b'\r' | b'\t' => {
                    self.scanner.take(byte);
                    continue;
                }
                b']' => {
                    self.scanner.take(byte);
                    self.depth = self.depth.saturating_sub(1);
                    continue;
                }
                _ => {}
            }
            if self.depth >= NESTING_MAX {
                return Err(ServeError::invalid(format!(
                    "JSON nesting depth exceeds maximum allowed limit ({NESTING_MAX})"
                )));
            }
            if byte == b'[' {
                self.scanner.take(byte);
                self.depth += 1;
                continue;
            }
            let text = match byte {
                b'-' | b'0'..=b'9' => self.scanner.number(),
                _ => self.scanner.value(),
            };
            return Ok(Some(Value::from_scanned(text?)));
        }
    }
}

fn decode_numbers(datatype: DataType, data: Value<'_>, size: usize) -> Result<Vec<u8>, ServeError> {
    // A value takes two bytes of JSON at least, so that a shape alone cannot claim much memory.
    let values_max = data.text().len() / 2 + 1;
    let mut out = Vec::with_capacity(size.min(values_max.saturating_mul(8)));
    let mut leaves = Leaves::new(data);
    while let Some(value) = leaves.next()? {
        if out.len() >= size {
            return Err(ServeError::internal("Shape does not match true shape of 'data' field"));
        }
        match datatype {
            DataType::TypeFp32 => {
                #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest float")]
                let single = value.as_double()? as f32;
                out.extend_from_slice(&single.to_le_bytes());
            }
            DataType::TypeFp64 => out.extend_from_slice(&value.as_double()?.to_le_bytes()),
            DataType::TypeBool => out.push(u8::from(value.as_bool()?)),
            // Integers are cut to their type without a check of the range, as clients know it.
            DataType::TypeUint8 => out.extend_from_slice(&value.as_unsigned()?.to_le_bytes()[..1]),
            DataType::TypeUint16 => out.extend_from_slice(&value.as_unsigned()?.to_le_bytes()[..2]),
            DataType::TypeUint32 => out.extend_from_slice(&value.as_unsigned()?.to_le_bytes()[..4]),
            DataType::TypeUint64 => out.extend_from_slice(&value.as_unsigned()?.to_le_bytes()),
            DataType::TypeInt8 => out.extend_from_slice(&value.as_signed()?.to_le_bytes()[..1]),
            DataType::TypeInt16 => out.extend_from_slice(&value.as_signed()?.to_le_bytes()[..2]),
            DataType::TypeInt32 => out.extend_from_slice(&value.as_signed()?.to_le_bytes()[..4]),
            DataType::TypeInt64 => out.extend_from_slice(&value.as_signed()?.to_le_bytes()),
            DataType::TypeInvalid | DataType::TypeFp16 | DataType::TypeBf16 | DataType::TypeString => break,
        }
    }
    Ok(out)
}

/// What the strings of `data` take in memory, with their lengths.
fn strings_size(data: Value<'_>) -> Result<u64, ServeError> {
    let mut size = 0_u64;
    let mut leaves = Leaves::new(data);
    while let Some(value) = leaves.next()? {
        let bytes = value.as_bytes().map_err(|error| ServeError {
            message: format!("Unable to parse JSON bytes array: {}", error.message),
            ..error
        })?;
        size += bytes.len() as u64 + 4;
    }
    Ok(size)
}

fn decode_strings(data: Value<'_>, size: u64) -> Result<Vec<u8>, ServeError> {
    let mut out = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    let mut leaves = Leaves::new(data);
    while let Some(value) = leaves.next()? {
        let quoted = value.text();
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        unescape_into(&quoted[1..quoted.len() - 1], &mut out);
        let length = u32::try_from(out.len() - at - 4)
            .map_err(|_| ServeError::internal("Tensor size is too large to be processed"))?;
        out[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
    Ok(out)
}

/// Appends the tensor's elements as a flat JSON array.
pub(crate) fn encode(out: &mut Vec<u8>, tensor: &OutputTensor) -> Result<(), ServeError> {
    let elements = elements(&tensor.shape);
    let data = tensor.data.as_ref();
    match tensor.datatype {
        DataType::TypeString => return encode_strings(out, tensor, elements),
        DataType::TypeFp16 => return Err(not_out_of_json("FP16")),
        DataType::TypeBf16 => return Err(not_out_of_json("BF16")),
        DataType::TypeInvalid => return Err(ServeError::invalid("Invalid data type for output tensor")),
        _ => {}
    }
    let size = datatype::byte_size(tensor.datatype).unwrap_or(1);
    if elements.and_then(|elements| elements.checked_mul(size)) != Some(data.len()) {
        return Err(ServeError::internal(format!(
            "Failed to write 'data' field: output tensor shape does not match size of output for '{}'",
            tensor.name
        )));
    }
    encode_numbers(out, tensor.datatype, data);
    Ok(())
}

fn encode_numbers(out: &mut Vec<u8>, datatype: DataType, data: &[u8]) {
    macro_rules! each {
        ($type:ty, $write:expr) => {
            write::write_array(
                out,
                data.as_chunks().0.iter().map(|bytes| <$type>::from_le_bytes(*bytes)),
                $write,
            )
        };
    }
    match datatype {
        DataType::TypeFp32 => each!(f32, |out, value| number::write_double(out, f64::from(value))),
        DataType::TypeFp64 => each!(f64, number::write_double),
        DataType::TypeUint8 => each!(u8, |out, value| number::write_unsigned(out, value.into())),
        DataType::TypeUint16 => each!(u16, |out, value| number::write_unsigned(out, value.into())),
        DataType::TypeUint32 => each!(u32, |out, value| number::write_unsigned(out, value.into())),
        DataType::TypeUint64 => each!(u64, number::write_unsigned),
        DataType::TypeInt8 => each!(i8, |out, value| number::write_signed(out, value.into())),
        DataType::TypeInt16 => each!(i16, |out, value| number::write_signed(out, value.into())),
        DataType::TypeInt32 => each!(i32, |out, value| number::write_signed(out, value.into())),
        DataType::TypeInt64 => each!(i64, number::write_signed),
        _ => each!(u8, |out: &mut Vec<u8>, value| {
            out.extend_from_slice(if value == 0 { b"false" } else { b"true" });
        }),
    }
}

fn not_out_of_json(datatype: &str) -> ServeError {
    ServeError::invalid(format!(
        "sending {datatype} data via JSON is not supported. Please use the binary data format for output"
    ))
}

/// How many elements a response's shape has; none if they cannot be counted.
fn elements(shape: &[i64]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |count, &dimension| count.checked_mul(usize::try_from(dimension).ok()?))
}

fn encode_strings(
    out: &mut Vec<u8>,
    tensor: &OutputTensor,
    elements: Option<usize>,
) -> Result<(), ServeError> {
    let mismatch = || {
        ServeError::internal(format!(
            "output tensor shape does not match size of output for '{}'",
            tensor.name
        ))
    };
    let mut rest = tensor.data.as_ref();
    out.push(b'[');
    for index in 0..elements.ok_or_else(mismatch)? {
        let (prefix, after) = rest.split_first_chunk::<4>().ok_or_else(mismatch)?;
        let length = usize::try_from(u32::from_le_bytes(*prefix)).map_err(|_| mismatch())?;
        let (string, after) = after.split_at_checked(length).ok_or_else(mismatch)?;
        if index > 0 {
            out.push(b',');
        }
        write::write_string(out, string);
        rest = after;
    }
    out.push(b']');
    Ok(())
}

#[cfg(test)]
mod tests;
