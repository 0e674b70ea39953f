//! How each output of a response is to be sent: as JSON, or binary after it.

/// The client's wishes.
#[derive(Debug, Default)]
pub(crate) struct OutputPlan {
    /// For outputs that the request does not list.
    pub(crate) binary_by_default: bool,
    /// Listed outputs; the first of equal names counts.
    listed: Vec<(String, bool)>,
}

impl OutputPlan {
    /// All outputs binary.
    pub(crate) const fn binary() -> Self {
        Self { binary_by_default: true, listed: Vec::new() }
    }

    /// Adds an output that the request lists.
    pub(crate) fn list(&mut self, name: String, binary: bool) {
        self.listed.push((name, binary));
    }

    /// Whether an output goes into the binary part. A listed one does only if it says so itself.
    pub(crate) fn is_binary(&self, name: &str) -> bool {
        self.listed
            .iter()
            .find(|(listed, _)| listed == name)
            .map_or(self.binary_by_default, |&(_, binary)| binary)
    }
}
