//! A body that is nothing but the data of the one input of a model.
//!
//! Name, type and shape come from the model's configuration; one dimension may be left open and follows from the
//! length. A string stands there without its length.

use bytes::{BufMut, Bytes, BytesMut};
use nereid_core::error::ServeError;
use nereid_proto::inference::{DataType, ModelConfig};

use crate::frontend::datatype;
use crate::serve::request::InputTensor;

/// The input that `data` is.
pub(crate) fn input(config: &ModelConfig, data: Bytes) -> Result<InputTensor, ServeError> {
    let [input] = config.input.as_slice() else {
        return Err(ServeError::invalid(format!(
            "Raw request must only have 1 input (found 1) to be deduced but got {} inputs in '{}' model configuration",
            config.input.len(),
            config.name
        )));
    };
    let datatype = input.data_type();
    // Where the dimension lies that the length decides.
    let mut open = None;
    let mut elements = Some(1_u64);
    let mut shape = Vec::with_capacity(input.dims.len() + 1);
    if config.max_batch_size > 0 {
        shape.push(1);
    }
    for &dimension in &input.dims {
        if let Ok(size) = u64::try_from(dimension) {
            elements = elements.and_then(|elements| elements.checked_mul(size));
        } else if open.replace(shape.len()).is_some() {
            return Err(ServeError::invalid(format!(
                "The shape of the raw input '{}' can not be deduced because there are more than one variable-sized \
                 dimension",
                input.name
            )));
        }
        shape.push(dimension);
    }
    let elements = elements.unwrap_or(u64::MAX);
    if datatype == DataType::TypeString {
        if elements != 1 {
            return Err(ServeError::invalid(format!(
                "For BYTE datatype raw input '{}', the model must have input shape [1]",
                input.name
            )));
        }
        if let Some(open) = open {
            shape[open] = 1;
        }
        let data = with_length(&input.name, &data)?;
        return Ok(InputTensor { name: input.name.clone(), datatype, shape, data });
    }
    if let Some(open) = open {
        let element_size = datatype::byte_size(datatype).unwrap_or(1) as u64;
        let rest = elements.saturating_mul(element_size).max(1);
        shape[open] = i64::try_from(data.len() as u64 / rest).unwrap_or(i64::MAX);
    }
    Ok(InputTensor { name: input.name.clone(), datatype, shape, data })
}

fn with_length(name: &str, data: &Bytes) -> Result<Bytes, ServeError> {
    let length = u32::try_from(data.len())
        .map_err(|_| ServeError::invalid(format!("raw input '{name}' is longer than a string may be")))?;
    let mut prefixed = BytesMut::with_capacity(data.len() + 4);
    prefixed.put_u32_le(length);
    prefixed.extend_from_slice(data);
    Ok(prefixed.freeze())
}

/// The error of a body that is too large.
pub(crate) fn too_large(size: u64, size_max: u64) -> ServeError {
    ServeError::invalid(format!(
        "Raw input has a byte_size ({size} bytes) that exceeds the maximum allowed value of {size_max} bytes. Use \
         --http-max-input-size to increase the limit."
    ))
}

#[cfg(test)]
mod tests;
