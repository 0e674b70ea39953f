//! Waiting for a condition under a deadline: the one place where tests sleep, and never for luck.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for something that should happen at once, on a machine that does ten other things.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(5);

/// Looks until `condition` gives a value; panics with `what` after [`PATIENCE`].
pub fn until_some<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    until_some_within(PATIENCE, what, condition)
}

/// Looks until `condition` holds; panics with `what` after [`PATIENCE`].
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_some(what, || condition().then_some(()));
}

/// Looks until `condition` gives a value; panics with `what` after `patience`.
pub fn until_some_within<T>(patience: Duration, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {patience:?} in vain: {what}");
        pause();
    }
}

/// One look's interval.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where tests sleep, between two looks at a condition"
)]
pub fn pause() {
    thread::sleep(INTERVAL);
}
