//! How anything becomes visible: log lines and metrics.

pub mod exposition;
pub mod logging;
pub mod metrics;
