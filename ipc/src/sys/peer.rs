//! Who is at the other end of a Unix stream socket: a process below this one, or not.
//!
//! For sockets that a server opens for people, and that its own workers have no business with.
#![expect(unsafe_code, reason = "SO_PEERPIDFD has no wrapper")]

use super::processes;
use nix::{
    errno::Errno,
    sys::socket::{getsockopt, sockopt},
};
use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    process,
};

/// Since Linux 6.5.
const SO_PEERPIDFD: libc::c_int = 77;
/// Longer chains of parents do not happen.
const ANCESTORS_MAX: usize = 1024;

/// Whether the process that connected is a descendant of this one. What cannot be found out counts as yes: the process has
/// ended meanwhile, or `/proc` does not show it.
///
/// Processes of other containers, for whom this one has no number, are no descendants: one's own always have one.
pub fn peer_is_descendant(socket: impl AsFd) -> io::Result<bool> {
    let socket = socket.as_fd();
    let credentials = getsockopt(&socket, sockopt::PeerCredentials)?;
    let Ok(pid) = u32::try_from(credentials.pid()) else { return Ok(true) };
    if pid == 0 {
        return Ok(false);
    }
    match peer_handle(socket) {
        // As long as the handle tells a number, that number has not been given to another.
        Ok(handle) => {
            let descends = descends(pid);
            Ok(number_of(&handle)? != Some(pid) || descends)
        }
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(descends(pid)),
        Err(_) => Ok(true),
    }
}

fn peer_handle(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut handle: RawFd = -1;
    let mut length: libc::socklen_t = size_of::<RawFd>().try_into().map_err(io::Error::other)?;
    // SAFETY: both places are ours and of the lengths told.
    let got = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut handle).cast(),
            &raw mut length,
        )
    };
    Errno::result(got)?;
    if handle < 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(handle) })
}

/// The number of a process that is held by an fd, while it has one.
fn number_of(handle: &OwnedFd) -> io::Result<Option<u32>> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", handle.as_raw_fd()))?;
    let number = info.lines().find_map(|line| line.strip_prefix("Pid:"));
    Ok(number.and_then(|number| number.trim().parse().ok()))
}

fn descends(pid: u32) -> bool {
    let own = process::id();
    let mut current = pid;
    if current == own {
        return false;
    }
    for _ in 0..ANCESTORS_MAX {
        let Ok(process) = processes::one(current) else { return true };
        match process.parent {
            0 => return false,
            parent if parent == own => return true,
            parent => current = parent,
        }
    }
    true
}

#[cfg(test)]
mod tests;
