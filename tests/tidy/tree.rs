//! The files of the repository. Does not follow links and does not ask git: an export is checked like a checkout.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] =
    &["target", ".git", ".cache", ".venv", "__pycache__", ".pytest_cache", "corpus", "artifacts"];
/// Deeper than any folder of the repository: an accidental loop ends.
const DEPTH_MAX: usize = 16;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository").to_owned()
}

/// One text file: its path from the root with forward slashes, and its content.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// The name after the last slash.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it only exists for tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.contains("/benches/")
            || self.path.contains("/fuzz/")
            || self.name() == "tests.rs"
    }
}

/// All text files.
pub(crate) fn files() -> Vec<File> {
    let mut found = Vec::new();
    collect(&root(), &root(), 0, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The Rust files.
pub(crate) fn rust_files() -> Vec<File> {
    files().into_iter().filter(|file| file.has_extension("rs")).collect()
}

/// The entries of the repository's top folder, with `/` after the folders' names.
pub(crate) fn top_level() -> Vec<String> {
    let entries = fs::read_dir(root()).expect("the repository can be read");
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() { format!("{name}/") } else { name }
        })
        .collect();
    names.sort();
    names
}

fn collect(root: &Path, folder: &Path, depth: usize, found: &mut Vec<File>) {
    assert!(depth < DEPTH_MAX, "{} is nested too deeply", folder.display());
    for entry in fs::read_dir(folder).expect("the repository can be read").flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if !SKIPPED.contains(&entry.file_name().to_string_lossy().as_ref()) {
                collect(root, &path, depth + 1, found);
            }
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(&path)
        {
            let path = path.strip_prefix(root).expect("it was found below the root");
            found.push(File { path: path.to_string_lossy().replace('\\', "/"), text });
        }
    }
}
