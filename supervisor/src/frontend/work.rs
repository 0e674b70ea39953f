//! Work that takes long enough to be felt leaves the connection's thread, on which other requests wait.

use nereid_core::error::ServeError;

/// Bytes to look at from which on a thread that may take its time does it. Below, changing threads would cost more.
pub(crate) const LONG_WORK: usize = 256 * 1024;

/// Runs `work`, which looks at `size` bytes: here if it is short, else on a thread for long work.
pub(crate) async fn run<T, E>(
    size: usize,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Lost> + Send + 'static,
{
    if size < LONG_WORK {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(E::from(Lost(error))),
    }
}

/// The thread ended without a result.
#[derive(Debug, thiserror::Error)]
#[error("cannot work on a large body: {0}")]
pub(crate) struct Lost(tokio::task::JoinError);

impl From<Lost> for ServeError {
    fn from(lost: Lost) -> Self {
        Self::internal(lost.to_string())
    }
}

impl From<Lost> for tonic::Status {
    fn from(lost: Lost) -> Self {
        Self::internal(lost.to_string())
    }
}
