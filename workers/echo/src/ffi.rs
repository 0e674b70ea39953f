//! The ways to die that need a system call or a wild pointer: this worker's only unsafe code.
#![expect(unsafe_code, reason = "faults are its purpose")]

use libc::c_int;
use std::ptr;

/// Reads where nothing is mapped: the kernel sends SIGSEGV.
pub(crate) fn segfault() -> u8 {
    let nowhere = ptr::without_provenance::<u8>(8);
    // SAFETY: none. The page at address 0 is never mapped, so the process ends here, as it is meant to.
    unsafe { ptr::read_volatile(nowhere) }
}

/// Sends a signal to this process.
pub(crate) fn signal_self(signal: c_int) {
    // SAFETY: no pointers; the kernel checks the number.
    unsafe { libc::raise(signal) };
}

/// Ends at once, without a word to anybody.
pub(crate) fn exit(code: c_int) -> ! {
    // SAFETY: does not return, so nothing can be left in a bad state.
    unsafe { libc::_exit(code) }
}
