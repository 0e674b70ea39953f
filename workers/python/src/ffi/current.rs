//! The batch that this thread is executing, for the calls that a model makes back into the worker meanwhile.
//!
//! The batch is borrowed while the model runs and cannot be handed to Python. Calls on the same thread reach it here;
//! other threads find nothing and have to leave a message (`exchange.rs`).
#![expect(unsafe_code, reason = "a borrow is carried through the interpreter's stack")]

use nereid_worker::Batch;
use std::{cell::Cell, ptr::NonNull};

thread_local! {
    static CURRENT: Cell<Option<NonNull<Batch<'static>>>> = const { Cell::new(None) };
}

/// Puts back what was there before, also when the call panics.
struct Restore(Option<NonNull<Batch<'static>>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs `call`, in which [`with`] finds `batch` on this thread.
pub(crate) fn enter<R>(batch: &mut Batch<'_>, call: impl FnOnce() -> R) -> R {
    // The lifetime is forgotten here and bounded again by the guard: the pointer is gone before `batch` is used again.
    let _restore = Restore(CURRENT.replace(Some(NonNull::from(batch).cast())));
    call()
}

/// Runs `call` on the batch that this thread executes. None if there is none, or if it is in use further up.
pub(crate) fn with<R>(call: impl for<'b> FnOnce(&mut Batch<'b>) -> R) -> Option<R> {
    let current = CURRENT.take();
    let _restore = Restore(current);
    // SAFETY: set by `enter`, whose caller lent the batch exclusively and waits for `call`; taken out of the cell, so
    // that nobody else on this thread can have it. The closure works for every lifetime, so it keeps nothing.
    current.map(|mut batch| call(unsafe { batch.as_mut() }))
}
