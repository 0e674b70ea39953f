//! Which inputs are lent in place and which are copied, learnt from what the model does.
//!
//! Small inputs are always copied: that costs less than watching them. Large ones are lent. A model that keeps one
//! beyond its batch pays for a move of pages once (`ffi/lent.rs`); from then on its inputs are copied, until it has
//! not kept any for a while. Pure: the batch tells what happened.

/// Up to here a copy costs less than a microsecond.
const SMALL: usize = 16 * 1024;
/// Batches in a row without a kept copy after which inputs are lent again.
const CLEAN_BATCHES: u32 = 256;
/// Runs of pages that may be set apart at once; each takes a few of the kernel's mappings, which are limited.
const APART_MAX: usize = 256;

/// What was learnt about the model.
#[derive(Debug, Default)]
pub(crate) struct Retention {
    /// Batches for which inputs are still copied.
    copying: u32,
}

impl Retention {
    /// Whether an input of that length may be lent, with so many runs of pages set apart.
    pub(crate) fn lends(&self, len: usize, apart: usize) -> bool {
        len > SMALL && self.copying == 0 && apart < APART_MAX
    }

    /// Whether a copy of that length should be watched: it stands for one that would have been lent.
    pub(crate) fn watches(&self, len: usize) -> bool {
        len > SMALL
    }

    /// After a batch: how many large inputs the model keeps.
    pub(crate) fn batch_ended(&mut self, kept: usize) {
        self.copying = if kept > 0 { CLEAN_BATCHES } else { self.copying.saturating_sub(1) };
    }
}
