//! What a worker process promises the kernel about itself.
//!
//! Called between `fork` and `exec`, where only async-signal-safe calls are allowed: no allocation, no locks.

use nix::{
    errno::Errno,
    sys::{prctl, signal::Signal},
    unistd::{Pid, getppid},
};

/// This process is killed when the thread that made it ends. `parent` is the process that should have made it: if it
/// died before the kernel was asked, there is no signal any more, so that is an error.
pub fn die_with_parent(parent: Pid) -> Result<(), Errno> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH) }
}

/// No program that this process starts can gain privileges, by set-user-id or otherwise.
pub fn no_new_privileges() -> Result<(), Errno> {
    prctl::set_no_new_privs()
}
