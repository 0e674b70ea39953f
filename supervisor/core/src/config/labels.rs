//! The class names of an output: one a line, numbered from zero.

use super::RawConfig;
use crate::error::ServeError;
use std::path::{Component, Path};

/// Checks that no label file lies outside of its model's directory. By the words of the path alone: links are the file
/// system's.
pub fn check_paths(raw: &RawConfig) -> Result<(), ServeError> {
    match raw.output.iter().find(|output| escapes(&output.label_filename)) {
        None => Ok(()),
        Some(output) => Err(ServeError::unsupported(format!(
            "label file path '{}' for output '{}' in model '{}' is outside model directory",
            output.label_filename, output.name, raw.name
        ))),
    }
}

fn escapes(path: &str) -> bool {
    let mut depth = 0_usize;
    for component in Path::new(path).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

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
