//! A body that is nothing but the data of the one input of a model.

use bytes::Bytes;
use nereid_core::config::ModelConfig;
use nereid_core::error::ServeError;
use nereid_core::request::deduce_raw_input;

use crate::frontend::datatype;
use crate::frontend::rope::Rope;
use crate::serve::request::InputTensor;
use crate::serve::tensor_data::TensorData;

/// The input that `body` is; name, type and shape come from the configuration.
pub(crate) fn input(config: &ModelConfig, body: &Rope) -> Result<InputTensor, ServeError> {
    let raw = deduce_raw_input(config, "", body.len() as u64)?;
    let data = if raw.is_string { with_length(&raw.spec.name, body)? } else { body.pieces(0..body.len()) };
    Ok(InputTensor {
        name: raw.spec.name.clone(),
        datatype: datatype::from_wire_name(raw.spec.datatype.wire_name()),
        shape: raw.shape,
        data,
    })
}

/// A string stands in the body without its length, which is put before it as a piece.
fn with_length(name: &str, body: &Rope) -> Result<TensorData, ServeError> {
    let length = u32::try_from(body.len())
        .map_err(|_| ServeError::invalid(format!("raw input '{name}' is longer than a string may be")))?;
    let length = Bytes::copy_from_slice(&length.to_le_bytes());
    Ok(std::iter::once(length).chain(body.pieces(0..body.len()).pieces().cloned()).collect())
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
