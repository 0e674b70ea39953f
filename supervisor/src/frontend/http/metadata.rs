//! Server metadata, model metadata, model configuration.

use http::StatusCode;
use nereid_core::error::ServeError;
use nereid_proto::inference::ModelMetadataResponse;
use nereid_proto::inference::model_metadata_response::TensorMetadata;

use super::json::number::write_signed;
use super::json::write::{write_array, write_string};
use super::reply::{Reply, json};
use super::router::ModelPath;
use crate::frontend::{Upstream, version};
use crate::serve::ServerMetadata;

/// What the server says of itself.
pub(crate) fn server<U: Upstream>(upstream: &U) -> Reply {
    json(StatusCode::OK, server_json(upstream.metadata()))
}

fn server_json(metadata: &ServerMetadata) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(b"{\"name\":");
    write_string(&mut out, metadata.name.as_bytes());
    out.extend_from_slice(b",\"version\":");
    write_string(&mut out, metadata.version.as_bytes());
    out.extend_from_slice(b",\"extensions\":");
    write_array(&mut out, &metadata.extensions, |out, name| write_string(out, name.as_bytes()));
    out.push(b'}');
    out
}

/// What a model says of itself.
pub(crate) fn model<U: Upstream>(upstream: &U, path: ModelPath<'_>) -> Result<Reply, ServeError> {
    let version = version::parse(path.version)?;
    Ok(json(StatusCode::OK, model_json(&upstream.model_metadata(path.name, version)?)))
}

fn model_json(metadata: &ModelMetadataResponse) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(b"{\"name\":");
    write_string(&mut out, metadata.name.as_bytes());
    out.extend_from_slice(b",\"versions\":");
    write_array(&mut out, &metadata.versions, |out, version| write_string(out, version.as_bytes()));
    out.extend_from_slice(b",\"platform\":");
    write_string(&mut out, metadata.platform.as_bytes());
    out.extend_from_slice(b",\"inputs\":");
    write_array(&mut out, &metadata.inputs, write_tensor);
    out.extend_from_slice(b",\"outputs\":");
    write_array(&mut out, &metadata.outputs, write_tensor);
    out.push(b'}');
    out
}

fn write_tensor(out: &mut Vec<u8>, tensor: &TensorMetadata) {
    out.extend_from_slice(b"{\"name\":");
    write_string(out, tensor.name.as_bytes());
    out.extend_from_slice(b",\"datatype\":");
    write_string(out, tensor.datatype.as_bytes());
    out.extend_from_slice(b",\"shape\":");
    write_array(out, &tensor.shape, |out, &dimension| write_signed(out, dimension));
    out.push(b'}');
}

/// A model's complete configuration.
pub(crate) fn config<U: Upstream>(upstream: &U, path: ModelPath<'_>) -> Result<Reply, ServeError> {
    let version = version::parse(path.version)?;
    Ok(json(StatusCode::OK, upstream.model(path.name, version)?.config_json().to_owned()))
}
