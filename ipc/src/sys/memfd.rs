//! Anonymous files: created, sealed, and looked at before they are believed.
//!
//! A seal against shrinking is what makes a mapping safe to read: without it the peer could cut the file, and the next
//! access would raise SIGBUS. The kernel keeps seals; no later owner can take one back.

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, SealFlag, fcntl},
    sys::memfd::{MFdFlags, memfd_create},
};
use std::{
    ffi::CStr,
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{FileExt, MetadataExt},
    },
};

/// What a segment has: its size is fixed for good, its contents are not.
pub const SEGMENT_SEALS: SealFlag =
    SealFlag::F_SEAL_SHRINK.union(SealFlag::F_SEAL_GROW).union(SealFlag::F_SEAL_SEAL);
/// What a spilled message has: nobody can change it any more.
pub const MESSAGE_SEALS: SealFlag = SEGMENT_SEALS.union(SealFlag::F_SEAL_WRITE);

/// Not executable, for good. Since Linux 6.3; the `nix` crate does not name it.
const MFD_NOEXEC_SEAL: MFdFlags = MFdFlags::from_bits_retain(8);

/// An empty, unsealed memfd. The name is for people who read `/proc/<pid>/maps`.
fn create(name: &CStr) -> io::Result<File> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let fd = match memfd_create(name, flags | MFD_NOEXEC_SEAL) {
        Err(Errno::EINVAL) => memfd_create(name, flags)?,
        other => other?,
    };
    Ok(File::from(fd))
}

/// A memfd of `length` zero bytes whose size cannot change.
pub fn segment(name: &CStr, length: u64) -> io::Result<OwnedFd> {
    let file = create(name)?;
    file.set_len(length)?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SEGMENT_SEALS))?;
    Ok(file.into())
}

/// A memfd that holds `contents` and cannot change.
pub fn message(name: &CStr, contents: &[u8]) -> io::Result<OwnedFd> {
    let file = create(name)?;
    file.write_all_at(contents, 0)?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(MESSAGE_SEALS))?;
    Ok(file.into())
}

/// Whether it is a memfd with at least those seals. Files that cannot have seals have none.
#[must_use]
pub fn has_seals(fd: impl AsFd, seals: SealFlag) -> bool {
    fcntl(fd, FcntlArg::F_GET_SEALS).is_ok_and(|bits| SealFlag::from_bits_truncate(bits).contains(seals))
}

/// The size of the file.
pub fn size(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.size())
}
