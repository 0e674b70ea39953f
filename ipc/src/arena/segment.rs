//! One mapped memfd, and the announcement by which the other side gets it.

use super::{error::ArenaError, layout::MAX_SEGMENT, view::View};
use crate::sys::{
    memfd,
    mmap::{Access, Mapping},
};
use nereid_proto::worker::{AddSegment, add_segment::Direction};
use std::{
    fs::File,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

/// Shared memory of a fixed size. Clones are the same memory; it is unmapped with the last one.
#[derive(Clone, Debug)]
pub struct Segment(Arc<View>);

impl Segment {
    /// New memory of zero bytes, and the fd for the other side, which may read and write it whatever `access` says.
    /// Its size can never change again.
    pub fn create(length: u64, access: Access) -> Result<(Self, OwnedFd), ArenaError> {
        let len = checked_length(length)?;
        let fd = memfd::segment(c"nereid-arena", length).map_err(ArenaError::io("memfd of a segment"))?;
        Ok((Self::map(&fd, len, access)?, fd))
    }

    /// Memory that the other side made: `length` is what it told. The fd is closed; the mapping stays.
    pub fn open(fd: OwnedFd, length: u64, access: Access) -> Result<Self, ArenaError> {
        let len = checked_length(length)?;
        // A file that could shrink would kill this process at the next access.
        if !memfd::has_seals(&fd, memfd::SEGMENT_SEALS) {
            return Err(ArenaError::Seals);
        }
        let file = File::from(fd);
        let actual = memfd::size(&file).map_err(ArenaError::io("fstat of a segment"))?;
        if actual != length {
            return Err(ArenaError::WrongSize { told: length, actual });
        }
        Self::map(&file, len, access)
    }

    fn map(fd: impl AsFd, len: usize, access: Access) -> Result<Self, ArenaError> {
        let map = Mapping::new(fd, len, access).map_err(ArenaError::io("mmap of a segment"))?;
        Ok(Self(Arc::new(View::new(map))))
    }

    pub(super) fn view(&self) -> &View {
        &self.0
    }

    /// Whether nobody else in this process holds it.
    pub(super) fn is_sole(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Its size in bytes, never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// A copy of `length` bytes at `offset`.
    pub fn copy_out(&self, offset: u64, length: u64) -> Result<Vec<u8>, ArenaError> {
        Ok(self.0.read_vec(offset, length)?)
    }

    /// Copies bytes at `offset` into `target`, all of it.
    pub fn copy_into(&self, offset: u64, target: &mut [u8]) -> Result<(), ArenaError> {
        Ok(self.0.read(offset, target)?)
    }

    /// Copies `source` to `offset`.
    pub fn write(&self, offset: u64, source: &[u8]) -> Result<(), ArenaError> {
        self.0.write(offset, source)
    }

    /// The bytes in place, for segments that are mapped for reading only.
    ///
    /// The peer may change them at any moment. Copy them or hand them to the network; never decide by them twice.
    pub fn bytes(&self, offset: u64, length: u64) -> Result<&[u8], ArenaError> {
        if self.0.access() != Access::Read {
            return Err(ArenaError::Writable);
        }
        Ok(self.0.slice(offset, length)?)
    }
}

fn checked_length(length: u64) -> Result<usize, ArenaError> {
    if length == 0 || length > MAX_SEGMENT {
        return Err(ArenaError::Size(length));
    }
    usize::try_from(length).map_err(|_| ArenaError::Size(length))
}

/// A segment that the worker does not know yet. It has to be announced before a descriptor may name it.
#[derive(Debug)]
pub struct NewSegment {
    /// Its number, never used again in this incarnation.
    pub id: u32,
    /// Its size in bytes.
    pub length: u64,
    /// Which arena it belongs to.
    pub direction: Direction,
    /// Travels with the announcement; can be closed after that.
    pub fd: OwnedFd,
}

impl NewSegment {
    /// The announcement, to be sent together with [`NewSegment::fd`].
    #[must_use]
    pub fn message(&self) -> AddSegment {
        AddSegment { segment: self.id, direction: self.direction.into(), length: self.length }
    }
}

impl AsFd for NewSegment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests;
