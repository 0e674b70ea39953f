//! What a worker may not do: prepared before the fork, entered between fork and `exec`, inherited by all that it starts.
//!
//! Three layers, each of which the kernel may lack: capabilities that no model needs are dropped for good; Landlock
//! ([`landlock`]) says which files may be written or read and which processes signalled; seccomp ([`filter`]) refuses
//! whole system calls. What is refused fails with EACCES or EPERM, so that a model's error says what it tried.
//!
//! Deliberately not here: which worker gets what.
#![expect(unsafe_code, reason = "system calls without wrappers, between fork and exec")]

mod capabilities;
mod filter;
mod landlock;

use nix::errno::Errno;
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::PathBuf,
    ptr,
};

/// How much is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing.
    Off,
    /// Writing outside of some folders, listening, and whatever reaches other processes or the system.
    #[default]
    Standard,
    /// Also the network, and reading outside of some folders.
    Strict,
}

/// What one worker gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    pub level: Level,
    /// Folders and files that may be written, and read; `/dev`, `/dev/shm` and `/proc/self` come on top. What does not exist is
    /// left out.
    pub writable: Vec<PathBuf>,
    /// With [`Level::Strict`]: what may be read and run besides the system's own folders.
    pub readable: Vec<PathBuf>,
}

/// What this kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock's interface.
    pub landlock: Option<u32>,
    pub seccomp: bool,
}

impl Support {
    /// Asks the kernel.
    #[must_use]
    pub fn detect() -> Self {
        Self { landlock: landlock::version(), seccomp: has_seccomp() }
    }
}

/// Gives up, for the calling thread and what it starts, to write anywhere but there and where every confined worker may. What the
/// kernel cannot refuse stays allowed.
pub fn write_only_to(paths: &[PathBuf]) -> io::Result<()> {
    landlock::write_only_to(paths)
}

fn has_seccomp() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the action lives through the call; nothing is changed by asking.
    let asked =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    Errno::result(asked).is_ok()
}

/// Everything that a process needs to confine itself by system calls alone.
#[derive(Debug)]
pub(super) struct Sandbox {
    /// The highest capability of this kernel.
    last_capability: libc::c_ulong,
    ruleset: Option<OwnedFd>,
    /// Of its own entry in `/proc`, which does not exist yet.
    own_process: u64,
    filter: Vec<libc::sock_filter>,
}

impl Sandbox {
    /// None where nothing is to be refused.
    pub(super) fn prepare(confinement: &Confinement) -> io::Result<Option<Self>> {
        if confinement.level == Level::Off {
            return Ok(None);
        }
        let support = Support::detect();
        let ruleset = match support.landlock {
            // Above the numbers that the worker's sockets will get.
            Some(_) => landlock::ruleset(confinement)?.map(super::spawn::above_sockets).transpose()?,
            None => None,
        };
        Ok(Some(Self {
            last_capability: capabilities::last(),
            own_process: landlock::own_process_access(support.landlock.unwrap_or(0)),
            ruleset,
            filter: if support.seccomp { filter::program(confinement.level) } else { Vec::new() },
        }))
    }

    /// Confines this process. Between fork and exec: system calls only. Privileges cannot be gained any more.
    pub(super) fn enter(&self) -> Result<(), Errno> {
        capabilities::drop_unneeded(self.last_capability)?;
        if let Some(ruleset) = &self.ruleset {
            landlock::enter(ruleset.as_raw_fd(), self.own_process)?;
        }
        if self.filter.is_empty() {
            return Ok(());
        }
        let program = libc::sock_fprog {
            len: u16::try_from(self.filter.len()).map_err(|_| Errno::EINVAL)?,
            // The kernel only reads it.
            filter: ptr::from_ref(self.filter.as_slice()).cast_mut().cast(),
        };
        let set = libc::SECCOMP_SET_MODE_FILTER;
        // SAFETY: the program and its instructions live through the call.
        Errno::result(unsafe { libc::syscall(libc::SYS_seccomp, set, 0, &raw const program) })?;
        Ok(())
    }
}
