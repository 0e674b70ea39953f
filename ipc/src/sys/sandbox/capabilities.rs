//! Of a server that runs as root: what its workers keep of that.
//!
//! A capability that is taken out of the bounding set is gone at the next `exec`. Without privileges there is nothing to
//! take, and the kernel says so.

use nix::errno::Errno;
use std::fs;

/// What containers usually keep, in numbers: chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap,
/// net_bind_service; and ipc_lock, for memory that a device reads.
const KEPT: &[libc::c_ulong] = &[0, 1, 3, 4, 5, 6, 7, 8, 10, 14];
/// A kernel that does not tell has at most so many.
const LAST: libc::c_ulong = 63;

/// The number of the last capability of this kernel.
pub(super) fn last() -> libc::c_ulong {
    let told = fs::read_to_string("/proc/sys/kernel/cap_last_cap");
    told.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(LAST)
}

/// One system call for each.
pub(super) fn drop_unneeded(last: libc::c_ulong) -> Result<(), Errno> {
    for capability in (0..=last).filter(|capability| !KEPT.contains(capability)) {
        // SAFETY: numbers only.
        let dropped = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        match Errno::result(dropped) {
            // Not privileged, or beyond the last one.
            Err(Errno::EPERM | Errno::EINVAL) => return Ok(()),
            other => other?,
        };
    }
    Ok(())
}
