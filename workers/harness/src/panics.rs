//! Turns a panic into a sentence for the crash report.
//!
//! The panic still prints as any other does, so that the stderr which the supervisor keeps has it with its backtrace.
//! Unwinding stops at the call into the backend: what the backend holds may be half-changed, so it is not used again.

use std::{
    any::Any,
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
};

thread_local! {
    /// Where the last panic of this thread happened; the payload does not tell.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes the place of a panic known to [`catch`]. Once in a process; without it, [`catch`] tells the message only.
pub(crate) fn remember_locations() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        LOCATION.set(info.location().map(ToString::to_string));
        print(info);
    }));
}

/// Runs `call`; a panic in it becomes what the last words are to say.
pub(crate) fn catch<R>(doing: &str, call: impl FnOnce() -> R) -> Result<R, String> {
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let message = text(payload.as_ref());
        match LOCATION.take() {
            Some(location) => format!("panicked in {doing} at {location}: {message}"),
            None => format!("panicked in {doing}: {message}"),
        }
    })
}

fn text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "something that is not a text"
    }
}

#[cfg(test)]
mod tests;
