//! The processes of this machine, as `/proc` shows them.
//!
//! A number alone says little, since the kernel gives it again; together with the time of the start it names one process.
//! Deliberately not here: what any of them means, and signals.

use super::{pidfd::PidFd, socket::wait_fd};
use nix::sys::signal::Signal;
use std::{collections::BTreeMap, ffi::OsStr, fs, io, io::Read, os::unix::ffi::OsStrExt, time::Duration};

/// More of an environment is not looked at; Linux allows a program that much by default.
const ENVIRONMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// More fds of one process are not looked at.
const FDS_MAX: usize = 4096;

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Who would be told of its end.
    pub parent: u32,
    /// It has ended and nobody has asked how.
    pub is_zombie: bool,
    /// Clock ticks between the machine's start and its own.
    pub started: u64,
}

/// All processes, by number, that can be seen.
pub fn all() -> io::Result<BTreeMap<u32, Process>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // It may have gone meanwhile.
        if let Ok(process) = one(pid) {
            found.insert(pid, process);
        }
    }
    Ok(found)
}

/// One of them.
pub fn one(pid: u32) -> io::Result<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat"))?;
    parse(&stat).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat is not understood")))
}

/// The line of `/proc/<pid>/stat`. The name in it may hold anything, brackets and line ends too.
fn parse(stat: &[u8]) -> Option<Process> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // Fields 5 to 21 lie between.
    let started = fields.nth(17)?.parse().ok()?;
    Some(Process { parent, is_zombie: matches!(state, "Z" | "X"), started })
}

/// A variable of the environment that a process was started with.
pub fn variable(pid: u32, name: &str) -> io::Result<Option<Vec<u8>>> {
    let mut environment = Vec::new();
    fs::File::open(format!("/proc/{pid}/environ"))?
        .take(ENVIRONMENT_BYTES_MAX)
        .read_to_end(&mut environment)?;
    let mut variables = environment.split(|&byte| byte == 0);
    let value = |variable: &[u8]| {
        let rest = variable.strip_prefix(name.as_bytes())?;
        rest.strip_prefix(b"=").map(<[u8]>::to_vec)
    };
    Ok(variables.find_map(value))
}

/// Whether a process has one of these sockets or pipes open, given by their inodes.
pub fn holds(pid: u32, inodes: &[u64]) -> io::Result<bool> {
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))?.take(FDS_MAX) {
        let Ok(target) = fs::read_link(entry?.path()) else { continue };
        if inode(target.as_os_str()).is_some_and(|inode| inodes.contains(&inode)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Of `pipe:[123]` or `socket:[123]`.
fn inode(target: &OsStr) -> Option<u64> {
    let target = std::str::from_utf8(target.as_bytes()).ok()?;
    let number = target.strip_prefix("pipe:[").or_else(|| target.strip_prefix("socket:["))?;
    number.strip_suffix(']')?.parse().ok()
}

/// Kills exactly the process that was looked at, and waits so long for its end. Whether it has ended.
pub fn kill(pid: u32, seen: Process, patience: Duration) -> io::Result<bool> {
    // One that has been reaped is no error.
    let Ok(handle) = PidFd::open(pid) else { return Ok(true) };
    // The number may mean another by now; the fd cannot from here on.
    if one(pid).ok().is_none_or(|now| now.started != seen.started) {
        return Ok(true);
    }
    handle.signal(Signal::SIGKILL)?;
    wait_fd(&handle, Some(patience))
}

#[cfg(test)]
mod tests;
