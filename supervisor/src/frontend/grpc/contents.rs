//! Typed contents of an input → the bytes of its tensor.

use bytes::{BufMut, Bytes, BytesMut};
use nereid_core::error::ServeError;
use nereid_proto::inference::{DataType, InferTensorContents};

use crate::frontend::datatype;

/// What the messages about an input name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) input: &'a str,
    pub(crate) model: &'a str,
}

/// About how many bytes have to be looked at, counted up to `enough`.
pub(crate) fn size(contents: &InferTensorContents, enough: usize) -> usize {
    let mut size = contents.bool_contents.len()
        + 4 * (contents.int_contents.len() + contents.uint_contents.len() + contents.fp32_contents.len())
        + 8 * (contents.int64_contents.len() + contents.uint64_contents.len() + contents.fp64_contents.len());
    for text in &contents.bytes_contents {
        if size >= enough {
            break;
        }
        // Each has its own place and a length before it.
        size += size_of_val(text) + text.len();
    }
    size
}

/// The bytes of a tensor of `datatype`. One field at most may be filled, and it must be the type's.
pub(crate) fn bytes(
    subject: Subject<'_>,
    datatype: DataType,
    contents: &InferTensorContents,
) -> Result<Bytes, ServeError> {
    let mut tensor = Tensor { subject, datatype, bytes: BytesMut::new() };
    // Small integers travel in a field of wider ones, of which the low bytes count.
    let signed = match datatype {
        DataType::TypeInt8 | DataType::TypeInt16 => datatype,
        _ => DataType::TypeInt32,
    };
    let unsigned = match datatype {
        DataType::TypeUint8 | DataType::TypeUint16 => datatype,
        _ => DataType::TypeUint32,
    };
    let narrow = datatype::byte_size(datatype).unwrap_or(4).min(4);
    tensor.fill(DataType::TypeBool, &contents.bool_contents, |out, &value| out.put_u8(u8::from(value)))?;
    tensor
        .fill(signed, &contents.int_contents, |out, value| out.put_slice(&value.to_le_bytes()[..narrow]))?;
    tensor.fill(DataType::TypeInt64, &contents.int64_contents, |out, &value| out.put_i64_le(value))?;
    tensor.fill(unsigned, &contents.uint_contents, |out, value| {
        out.put_slice(&value.to_le_bytes()[..narrow])
    })?;
    tensor.fill(DataType::TypeUint64, &contents.uint64_contents, |out, &value| out.put_u64_le(value))?;
    tensor.fill(DataType::TypeFp32, &contents.fp32_contents, |out, &value| out.put_f32_le(value))?;
    tensor.fill(DataType::TypeFp64, &contents.fp64_contents, |out, &value| out.put_f64_le(value))?;
    tensor.fill(DataType::TypeString, &contents.bytes_contents, |out, value| {
        // A message is shorter than what 32 bits count.
        out.put_u32_le(u32::try_from(value.len()).unwrap_or(u32::MAX));
        out.put_slice(value);
    })?;
    Ok(tensor.bytes.freeze())
}

struct Tensor<'a> {
    subject: Subject<'a>,
    datatype: DataType,
    bytes: BytesMut,
}

impl Tensor<'_> {
    /// Appends the values of a field for elements of type `field`.
    fn fill<T>(
        &mut self,
        field: DataType,
        values: &[T],
        mut put: impl FnMut(&mut BytesMut, &T),
    ) -> Result<(), ServeError> {
        if values.is_empty() {
            return Ok(());
        }
        let Subject { input, model } = self.subject;
        if !self.bytes.is_empty() {
            return Err(ServeError::invalid(format!(
                "unexpected explicit tensor data for input tensor '{input}' for model '{model}', binary data was \
                 already supplied."
            )));
        }
        if field != self.datatype {
            return Err(ServeError::invalid(format!(
                "unexpected explicit tensor data for input tensor '{input}' for model '{model}' of type '{}', expected \
                 datatype '{}'",
                datatype::wire_name(field),
                datatype::wire_name(self.datatype)
            )));
        }
        self.bytes.reserve(values.len().saturating_mul(datatype::byte_size(field).unwrap_or(4)));
        for value in values {
            put(&mut self.bytes, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
