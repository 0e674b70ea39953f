//! Input memory that is lent to a model without a copy, and what happens when the model keeps it.
//!
//! The supervisor writes the next request's input to the same place. So if an array still looks at it when the batch
//! ends, its pages are set apart: the address keeps what it held, as private memory, and the shared pages get a second
//! address, through which later requests that lie there are read. Nobody who looks at the array sees a change. When the
//! array is gone the shared pages move back.
//!
//! Deliberately not here: when to lend at all (`retention.rs`).
#![expect(unsafe_code, reason = "mappings are duplicated and moved")]

use nereid_ipc::arena::InputView;
use nix::sys::mman::{MRemapFlags, MapFlags, ProtFlags, mmap_anonymous, mremap, munmap};
use nix::unistd::{SysconfVar, sysconf};
use std::{
    io,
    num::NonZeroUsize,
    ops::Range,
    ptr::{self, NonNull},
    sync::Arc,
};

/// The smallest page, if the system does not tell.
const PAGE_FALLBACK: usize = 4096;

/// A run of an input segment. Whoever holds it may read and write there.
#[derive(Debug)]
pub(crate) struct Lent {
    view: InputView,
    len: usize,
}

impl Lent {
    pub(crate) fn new(view: InputView) -> Arc<Self> {
        let len = view.len();
        Arc::new(Self { view, len })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        NonNull::new(self.view.ptr()).unwrap_or_else(NonNull::dangling)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// Runs that a model keeps, and the pages that they have in common.
#[derive(Debug)]
struct Kept {
    /// Never empty. Ours are the last references when the model has let go.
    runs: Vec<Arc<Lent>>,
    /// Whole pages, by address.
    pages: Range<usize>,
}

/// Pages of a segment that were set apart because a model keeps what was lent to it.
#[derive(Debug)]
struct Apart {
    kept: Kept,
    /// Where the shared pages are now.
    shared: NonNull<u8>,
}

// SAFETY: addresses of mappings belong to the process, not to a thread.
unsafe impl Send for Apart {}

/// All pages that are set apart. Everything that reads inputs asks here first.
#[derive(Debug, Default)]
pub(crate) struct Aside(Vec<Apart>);

impl Aside {
    /// How many runs are set apart.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Moves the shared pages back to where nobody keeps anything any more.
    pub(crate) fn restore(&mut self) {
        self.0.retain(|apart| apart.kept.is_held() || !apart.move_back());
    }

    /// Sets the pages of runs apart, which somebody besides the caller still holds. If some fails, the others are done.
    pub(crate) fn set_apart(&mut self, runs: Vec<Arc<Lent>>) -> io::Result<()> {
        let mut done = Ok(());
        for kept in Kept::group(runs) {
            match kept.set_apart() {
                Ok(apart) => self.0.push(apart),
                Err(error) => done = Err(error),
            }
        }
        done
    }

    /// Whether a tensor may be lent: none of its pages is set apart.
    pub(crate) fn is_clear(&self, view: &InputView) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let bytes = span(view);
        self.0.iter().all(|apart| {
            let pages = &apart.kept.pages;
            pages.end <= bytes.start || bytes.end <= pages.start
        })
    }

    /// A copy of a tensor's bytes, wherever its pages are.
    pub(crate) fn copy(&self, view: &InputView) -> Vec<u8> {
        // Nobody may write to the place: it is either not lent or set apart.
        let mut bytes = view.as_slice().to_vec();
        let place = span(view);
        for apart in &self.0 {
            let pages = &apart.kept.pages;
            let begin = place.start.max(pages.start);
            let end = place.end.min(pages.end);
            if begin < end {
                let part = &mut bytes[begin - place.start..end - place.start];
                // SAFETY: the difference lies within the pages, of which `shared` has all.
                let source = unsafe { apart.shared.add(begin - pages.start) };
                // SAFETY: as many bytes as `part` has follow there, and nobody in this process writes to them.
                unsafe { ptr::copy_nonoverlapping(source.as_ptr(), part.as_mut_ptr(), part.len()) };
            }
        }
        bytes
    }
}

impl Kept {
    /// Joins runs that share a page: neighbours in one segment, since requests of a batch lie side by side.
    fn group(mut runs: Vec<Arc<Lent>>) -> Vec<Self> {
        runs.sort_unstable_by_key(|run| run.start());
        let mut groups: Vec<Self> = Vec::new();
        for run in runs {
            let pages = whole_pages(run.start().addr().get(), run.len());
            match groups.last_mut() {
                Some(last) if pages.start < last.pages.end => {
                    last.pages.end = last.pages.end.max(pages.end);
                    last.runs.push(run);
                }
                _ => groups.push(Self { runs: vec![run], pages }),
            }
        }
        groups
    }

    fn is_held(&self) -> bool {
        self.runs.iter().any(|run| Arc::strong_count(run) > 1)
    }

    /// The first byte of the pages.
    fn first(&self) -> NonNull<u8> {
        let Some(run) = self.runs.first() else { return NonNull::dangling() };
        let skip = run.start().addr().get() - self.pages.start;
        // SAFETY: the pages begin at the first run's own page, which is mapped.
        unsafe { run.start().sub(skip) }
    }

    fn set_apart(self) -> io::Result<Apart> {
        let (first, len) = (self.first(), self.pages.len());
        let copy = private_copy(first, len)?;
        // SAFETY: an old size of 0 duplicates the shared mapping of these pages at an address of the kernel's choice.
        let shared = unsafe { mremap(first.cast(), 0, len, MRemapFlags::MREMAP_MAYMOVE, None) };
        let shared = shared.inspect_err(|_| unmap(copy, len))?.cast();
        // SAFETY: replaces the pages by a copy of themselves in one step. Who looks there holds a run, and with it the
        // whole mapping; the shared pages live on in `shared`.
        unsafe { move_to(copy, len, first) }.inspect_err(|_| {
            unmap(copy, len);
            unmap(shared, len);
        })?;
        Ok(Apart { kept: self, shared })
    }
}

impl Apart {
    /// Whether it worked. If not, the pages stay apart, which is right too, and another attempt follows.
    fn move_back(&self) -> bool {
        // SAFETY: nobody but us holds the runs, so nobody looks at the private pages that this replaces. `shared` is not
        // used again: the entry is dropped.
        unsafe { move_to(self.shared, self.kept.pages.len(), self.kept.first()) }.is_ok()
    }
}

/// Moves a mapping, over whatever is there.
///
/// # Safety
/// Nobody may rely on what `target` holds, nor use `source` again.
unsafe fn move_to(source: NonNull<u8>, len: usize, target: NonNull<u8>) -> nix::Result<()> {
    let flags = MRemapFlags::MREMAP_MAYMOVE | MRemapFlags::MREMAP_FIXED;
    // SAFETY: says the caller.
    unsafe { mremap(source.cast(), len, len, flags, Some(target.cast())) }.map(drop)
}

fn private_copy(first: NonNull<u8>, len: usize) -> io::Result<NonNull<u8>> {
    let size = NonZeroUsize::new(len).ok_or(io::ErrorKind::InvalidInput)?;
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the kernel chooses the address.
    let copy = unsafe { mmap_anonymous(None, size, protection, MapFlags::MAP_PRIVATE) }?.cast::<u8>();
    // SAFETY: both have `len` bytes; the fresh mapping is nobody else's.
    unsafe { ptr::copy_nonoverlapping(first.as_ptr(), copy.as_ptr(), len) };
    Ok(copy)
}

fn unmap(start: NonNull<u8>, len: usize) {
    // SAFETY: a mapping that was made here and given to nobody.
    let unmapped = unsafe { munmap(start.cast(), len) };
    debug_assert_eq!(unmapped, Ok(()), "munmap of a whole mapping");
}

fn span(view: &InputView) -> Range<usize> {
    let start = view.ptr().addr();
    start..start + view.len()
}

fn whole_pages(start: usize, len: usize) -> Range<usize> {
    let page = page_size();
    start / page * page..(start + len).next_multiple_of(page)
}

fn page_size() -> usize {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    page.and_then(|page| usize::try_from(page).ok()).unwrap_or(PAGE_FALLBACK)
}
