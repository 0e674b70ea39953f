//! How much of a busy machine a worker gets, where control groups do not decide it.
//!
//! Anybody may lower a priority; raising it again takes a privilege, so whoever cannot raise shall not lower.
#![expect(unsafe_code, reason = "setpriority and ioprio_set have no wrapper")]

use nix::errno::Errno;
use std::{fs, io};

/// The bit of `CAP_SYS_NICE`.
const SYS_NICE: u32 = 23;
const IOPRIO_WHO_PGRP: libc::c_int = 2;
/// Best effort, which is what processes have that say nothing.
const IOPRIO_CLASS_BE: libc::c_int = 2 << 13;

/// Whether this process may raise priorities that it has lowered.
#[must_use]
pub fn can_restore() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & 1 << SYS_NICE != 0)
}

/// Sets the niceness of every thread of a process group, from -20 to 19, and its level of input and output, from 0 to 7. The
/// caller knows that the group's number was not given to another yet.
pub fn set_group(group: u32, nice: libc::c_int, io_level: libc::c_int) -> io::Result<()> {
    // SAFETY: numbers only.
    Errno::result(unsafe { libc::setpriority(libc::PRIO_PGRP, group, nice) })?;
    let priority = IOPRIO_CLASS_BE | io_level;
    // SAFETY: numbers only.
    let set = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PGRP, group, priority) };
    Errno::result(set)?;
    Ok(())
}
