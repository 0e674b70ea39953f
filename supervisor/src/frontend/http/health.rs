//! Live, ready, model ready.

use http::StatusCode;
use nereid_core::error::ServeError;

use super::reply::{Reply, empty, message};
use super::router::ModelPath;
use crate::frontend::{Upstream, version};

/// The words for a server that is going down.
const EXITING: &str = "Server exiting";

/// Whether the process serves.
pub(crate) fn live<U: Upstream>(upstream: &U) -> Result<Reply, ServeError> {
    if !upstream.is_live() {
        return Err(ServeError::unavailable(EXITING));
    }
    Ok(empty(StatusCode::OK))
}

/// Whether the server is ready by its policy.
pub(crate) fn ready<U: Upstream>(upstream: &U) -> Result<Reply, ServeError> {
    if !upstream.is_live() {
        return Err(ServeError::unavailable(EXITING));
    }
    Ok(empty(if upstream.is_ready() { StatusCode::OK } else { StatusCode::BAD_REQUEST }))
}

/// Whether a model can take a request.
pub(crate) fn model_ready<U: Upstream>(upstream: &U, path: ModelPath<'_>) -> Result<Reply, ServeError> {
    let version = version::parse(path.version)?;
    Ok(if upstream.model_ready(path.name, version)? {
        empty(StatusCode::OK)
    } else {
        message(StatusCode::BAD_REQUEST, "Model version not ready")
    })
}
