//! The class names of an output: one a line, numbered from zero.

/// The labels of one output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    names: Vec<Box<str>>,
}

impl Labels {
    /// Reads a label file's text.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self { names: text.lines().map(Into::into).collect() }
    }

    /// The name of a class; empty where the file has none for it.
    #[must_use]
    pub fn get(&self, class: usize) -> &str {
        self.names.get(class).map_or("", |name| name)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests;
