//! Maps a file of fixed size into memory, shared, until the value is dropped.
//!
//! Deliberately not here: any access to the bytes. `arena/view.rs` does that, with bounds.
#![expect(unsafe_code, reason = "mmap and munmap")]

use nix::{
    errno::Errno,
    sys::mman::{MapFlags, ProtFlags, mmap, munmap},
};
use std::{io, num::NonZeroUsize, os::fd::AsFd, ptr::NonNull};

/// What this process may do with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only; the peer may be writing.
    Read,
    /// Read and write.
    Write,
}

/// A shared mapping of a whole file.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: NonZeroUsize,
    access: Access,
}

// SAFETY: a mapping belongs to the process, not to a thread; who touches its bytes when is view.rs's business.
unsafe impl Send for Mapping {}
// SAFETY: as above; the methods on `&Mapping` only tell where it is.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of `fd`. The caller has made sure that the file has them and cannot shrink.
    pub fn new(fd: impl AsFd, len: usize, access: Access) -> io::Result<Self> {
        let len = NonZeroUsize::new(len).ok_or(Errno::EINVAL)?;
        let protection = match access {
            Access::Read => ProtFlags::PROT_READ,
            Access::Write => ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
        };
        // SAFETY: the kernel chooses the address, so no memory that anybody uses is replaced.
        let start = unsafe { mmap(None, len, protection, MapFlags::MAP_SHARED, fd, 0) }?;
        Ok(Self { start: start.cast(), len, access })
    }

    /// The first byte.
    #[must_use]
    pub const fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How many bytes there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub const fn len(&self) -> usize {
        self.len.get()
    }

    /// What this process may do.
    #[must_use]
    pub const fn access(&self) -> Access {
        self.access
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `mmap` gave; whoever holds a pointer into it also holds the mapping.
        let unmapped = unsafe { munmap(self.start.cast(), self.len.get()) };
        debug_assert_eq!(unmapped, Ok(()), "munmap of a whole mapping");
    }
}
