//! The one place that reads the clocks for the core, and translates between its time and the runtime's.

use std::sync::OnceLock;
use std::time::{Instant as StdInstant, SystemTime, UNIX_EPOCH};

use nereid_core::time::{Duration, Instant};

fn start() -> StdInstant {
    static START: OnceLock<StdInstant> = OnceLock::new();
    *START.get_or_init(StdInstant::now)
}

/// Now, as the core counts it.
#[must_use]
pub fn now() -> Instant {
    from_std(StdInstant::now())
}

/// The core's name for an instant of the system's clock.
#[must_use]
pub fn from_std(instant: StdInstant) -> Instant {
    Instant::from_nanos(
        u64::try_from(instant.saturating_duration_since(start()).as_nanos()).unwrap_or(u64::MAX),
    )
}

/// The system's name for an instant of the core's.
#[must_use]
pub fn to_std(instant: Instant) -> StdInstant {
    start() + Duration::from_nanos(instant.as_nanos())
}

/// Milliseconds since the Unix epoch, for statistics.
#[must_use]
pub fn epoch_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Waits for a deadline; for ever where there is none.
pub async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(to_std(deadline).into()).await,
        None => std::future::pending().await,
    }
}
