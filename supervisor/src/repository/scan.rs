//! Folder → what the core needs to know of it. Reads directories and `config.pbtxt`, decides nothing.
//!
//! Everything here blocks, so it runs on the blocking pool. What is read has a bound.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nereid_core::config::autofill::{EntryKind, Listing, directory_to_list};
use nereid_core::config::versions::VersionDirectories;
use nereid_core::config::{RawConfig, pbtxt};
use nereid_core::error::ServeError;

const CONFIG_FILE: &str = "config.pbtxt";
/// A larger configuration is refused unread.
const CONFIG_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Entries of one directory that are looked at.
const ENTRIES_MAX: usize = 100_000;

/// A model's directory and its configuration as it stands there.
#[derive(Debug)]
pub struct Found {
    pub name: String,
    pub directory: PathBuf,
    /// Nothing filled in yet.
    pub config: RawConfig,
    pub versions: VersionDirectories,
    /// Of the first version's directory.
    pub listing: Option<Listing>,
}

/// The directories of all models, by name; a name that is in two repositories has both.
pub fn models(repositories: &[PathBuf]) -> Result<BTreeMap<String, Vec<PathBuf>>, ServeError> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for repository in repositories {
        let repository = repository.canonicalize().map_err(|error| {
            ServeError::invalid(format!(
                "repository path is not a valid directory: '{}': {error}",
                repository.display()
            ))
        })?;
        let names = entries(&repository).map_err(|error| {
            ServeError::invalid(format!(
                "repository path is not a valid directory: '{}': {error}",
                repository.display()
            ))
        })?;
        for (name, kind) in names {
            if kind == EntryKind::Directory {
                found.entry(name.clone()).or_default().push(repository.join(name));
            }
        }
    }
    Ok(found)
}

/// Reads one model's directory. `config_name` is `--model-config-name`, may be empty.
pub fn model(name: &str, directory: &Path, config_name: &str) -> Result<Found, ServeError> {
    let listed = entries(directory).map_err(|error| {
        ServeError::internal(format!("unable to read model directory '{}': {error}", directory.display()))
    })?;
    let names =
        || listed.iter().filter(|(_, kind)| *kind == EntryKind::Directory).map(|(name, _)| name.as_str());
    let first = directory_to_list(names());
    let listing = match first {
        Some(version) => Some(Listing {
            entries: entries(&directory.join(version)).map_err(|error| {
                ServeError::internal(format!(
                    "unable to read version directory '{version}' of '{name}': {error}"
                ))
            })?,
        }),
        None => None,
    };
    Ok(Found {
        name: name.to_owned(),
        directory: directory.to_owned(),
        config: read_config(directory, config_name)?,
        versions: VersionDirectories::read(names()),
        listing,
    })
}

/// The number of a version's directory as it is written: `1` may lie in `01`.
#[must_use]
pub fn version_directory(directory: &Path, version: i64) -> PathBuf {
    let plain = directory.join(version.to_string());
    if plain.is_dir() {
        return plain;
    }
    let same =
        |name: &str| nereid_core::config::versions::parse_name(name).is_ok_and(|number| number == version);
    entries(directory)
        .ok()
        .and_then(|listed| {
            listed.into_iter().find(|(name, kind)| *kind == EntryKind::Directory && same(name))
        })
        .map_or(plain, |(name, _)| directory.join(name))
}

fn read_config(directory: &Path, config_name: &str) -> Result<RawConfig, ServeError> {
    let custom = directory.join("configs").join(format!("{config_name}.pbtxt"));
    let path = if !config_name.is_empty() && custom.is_file() { custom } else { directory.join(CONFIG_FILE) };
    match fs::metadata(&path) {
        // To open a pipe would wait for its writer.
        Ok(metadata) if !metadata.is_file() => {
            return Err(ServeError::invalid(format!("'{}' is not a regular file", path.display())));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(RawConfig::default()),
        Err(error) => return Err(unreadable(&path, &error)),
    }
    let file = fs::File::open(&path).map_err(|error| unreadable(&path, &error))?;
    let mut text = String::new();
    file.take(CONFIG_BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| unreadable(&path, &error))?;
    if text.len() as u64 > CONFIG_BYTES_MAX {
        return Err(ServeError::invalid(format!(
            "'{}' is larger than {CONFIG_BYTES_MAX} bytes",
            path.display()
        )));
    }
    pbtxt::parse(&text).map_err(|error| {
        ServeError::invalid(format!("failed to read text proto from '{}': {error}", path.display()))
    })
}

fn unreadable(path: &Path, error: &io::Error) -> ServeError {
    ServeError::internal(format!("unable to read '{}': {error}", path.display()))
}

/// Names and kinds, links followed, in the order of text. What is neither file nor directory is left out.
fn entries(directory: &Path) -> io::Result<Vec<(String, EntryKind)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)?.take(ENTRIES_MAX) {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kind = match fs::metadata(entry.path()) {
            Ok(metadata) if metadata.is_dir() => EntryKind::Directory,
            Ok(metadata) if metadata.is_file() => EntryKind::File,
            _ => continue,
        };
        found.push((name, kind));
    }
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}
