//! How anything becomes visible: log lines and metrics.

pub mod crashes;
pub mod events;
pub mod exposition;
pub mod logging;
pub mod metrics;
