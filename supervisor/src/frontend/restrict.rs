//! APIs that answer only clients which know a header's value.
//!
//! A guard against accidents and curious neighbours, not a replacement for authentication: the value travels in the
//! clear unless the connection is encrypted.

use std::fmt;

/// A group of APIs that can be restricted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Health,
    Metadata,
    Inference,
    SharedMemory,
    ModelConfig,
    ModelRepository,
    Statistics,
    Trace,
    Logging,
}

impl Category {
    /// Every group with its name on the command line.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("health", Self::Health),
        ("metadata", Self::Metadata),
        ("inference", Self::Inference),
        ("shared-memory", Self::SharedMemory),
        ("model-config", Self::ModelConfig),
        ("model-repository", Self::ModelRepository),
        ("statistics", Self::Statistics),
        ("trace", Self::Trace),
        ("logging", Self::Logging),
    ];

    /// The group of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, category)| category)
    }
}

/// The header that opens a group, and the value that it must have.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    pub header: String,
    value: String,
}

impl Key {
    /// A header and the value that opens.
    #[must_use]
    pub const fn new(header: String, value: String) -> Self {
        Self { header, value }
    }

    /// Whether a client that sends `value` may pass. Takes as long for a near miss as for a wild guess.
    #[must_use]
    pub fn opens(&self, value: Option<&[u8]>) -> bool {
        let Some(value) = value else { return false };
        let expected = self.value.as_bytes();
        let differences = expected.iter().zip(value).fold(0, |all, (left, right)| all | (left ^ right));
        expected.len() == value.len() && differences == 0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("header", &self.header).finish_non_exhaustive()
    }
}

/// Which groups are restricted, and by what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restrictions {
    keys: Vec<(Category, Key)>,
}

impl Restrictions {
    /// Restricts a group. False if it is restricted already.
    #[must_use]
    pub fn add(&mut self, category: Category, key: Key) -> bool {
        let new = self.key(category).is_none();
        if new {
            self.keys.push((category, key));
        }
        new
    }

    /// What opens a group; none if it is open to all.
    #[must_use]
    pub fn key(&self, category: Category) -> Option<&Key> {
        self.keys.iter().find(|(restricted, _)| *restricted == category).map(|(_, key)| key)
    }

    /// The name of the header that is missing or wrong, if the group is closed to a client with these headers.
    pub fn missing<'a, 'h>(
        &'a self,
        category: Category,
        header: impl FnOnce(&str) -> Option<&'h [u8]>,
    ) -> Option<&'a str> {
        let key = self.key(category)?;
        (!key.opens(header(&key.header))).then_some(&key.header)
    }
}

#[cfg(test)]
mod tests;
