//! `reshape` of a model configuration: the same elements under another shape.
//!
//! Deliberately not here: whether two shapes have the same elements, which the server has checked.

/// From one pattern to another; -1 stands for any size, and the n-th of one is the n-th of the other.
#[derive(Debug)]
pub(super) struct Reshape {
    from: Vec<i64>,
    to: Vec<i64>,
    /// Dimensions before the pattern: the batch.
    before: usize,
}

impl Reshape {
    pub(super) fn new(from: Vec<i64>, to: Vec<i64>, batched: bool) -> Self {
        Self { from, to, before: usize::from(batched) }
    }

    /// Changes a shape that has the first pattern; any other stays.
    pub(super) fn apply(&self, shape: &mut Vec<i64>) {
        let Some(sizes) = shape.get(self.before..).filter(|sizes| self.fits(sizes)) else { return };
        let open = self.from.iter().zip(sizes).filter(|(pattern, _)| **pattern == -1);
        let mut open = open.map(|(_, &size)| size).collect::<Vec<_>>().into_iter();
        shape.truncate(self.before);
        shape.extend(
            self.to.iter().map(|&pattern| if pattern == -1 { open.next().unwrap_or(-1) } else { pattern }),
        );
    }

    fn fits(&self, sizes: &[i64]) -> bool {
        let fits = |(&pattern, &size): (&i64, &i64)| pattern == -1 || pattern == size;
        sizes.len() == self.from.len() && self.from.iter().zip(sizes).all(fits)
    }
}
