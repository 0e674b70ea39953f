//! What a worker may do to the rest of the machine: the operator's choice, and the folders that its kind needs.
//!
//! It is made from the configuration as the operator wrote it, before any worker has completed it: a model cannot loosen
//! its own bonds. How the kernel is told is in `nereid_ipc::sys::sandbox`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use nereid_core::error::ServeError;
use nereid_ipc::sys::sandbox::{Confinement, Level};
use nereid_proto::inference::ModelConfig;

use super::exec::Program;
use super::programs::expand;

/// The parameter that sets the level of one model.
pub const LEVEL_PARAMETER: &str = "worker_sandbox";
/// Folders and files that a model may write, apart from its own: separated by colons.
const WRITABLE_PARAMETER: &str = "sandbox_writable_paths";
/// The same for reading, which only matters when the level is strict.
const READABLE_PARAMETER: &str = "sandbox_readable_paths";
/// Variables with lists of folders from which programs and libraries are taken.
const SEARCH_VARIABLES: &[&str] =
    &["PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE"];

/// The level of that name.
#[must_use]
pub fn level(name: &str) -> Option<Level> {
    match name {
        "off" => Some(Level::Off),
        "standard" => Some(Level::Standard),
        "strict" => Some(Level::Strict),
        _ => None,
    }
}

/// What a worker of this model may do.
pub(super) fn confinement(
    default: Level,
    config: &ModelConfig,
    program: &Program,
) -> Result<Confinement, ServeError> {
    let parameter = |name: &str| {
        config.parameters.get(name).map(|value| value.string_value.as_str()).filter(|value| !value.is_empty())
    };
    let level = match parameter(LEVEL_PARAMETER) {
        None => default,
        Some(name) => level(name).ok_or_else(|| {
            ServeError::invalid(format!(
                "parameter '{LEVEL_PARAMETER}' of model '{}' is '{name}', and can be off, standard or strict",
                config.name
            ))
        })?,
    };
    let paths = |name: &str| {
        let listed = parameter(name).unwrap_or_default().split(':').filter(|path| !path.is_empty());
        let listed = listed.map(|path| existing(name, config, &expand(path, &program.directory)));
        listed.collect::<Result<Vec<_>, _>>()
    };
    let mut writable = paths(WRITABLE_PARAMETER)?;
    let mut readable = paths(READABLE_PARAMETER)?;
    if level == Level::Off {
        return Ok(Confinement { level, ..Default::default() });
    }
    writable.extend([program.directory.clone(), std::env::temp_dir()]);
    if let Some(cache) = &program.cache {
        // The worker would make it, but can only be allowed what exists. What is wrong with it the worker tells better.
        let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(cache);
        writable.push(cache.clone());
    }
    if level == Level::Strict {
        readable.extend(needed(program));
    }
    Ok(Confinement { level, writable, readable })
}

fn existing(parameter: &str, config: &ModelConfig, path: &Path) -> Result<PathBuf, ServeError> {
    if path.is_absolute() && path.exists() {
        return Ok(path.to_owned());
    }
    let what = if path.is_absolute() { "does not exist" } else { "is not absolute" };
    Err(ServeError::invalid(format!(
        "parameter '{parameter}' of model '{}' names '{}', which {what}",
        config.name,
        path.display()
    )))
}

/// Where the worker's own program and what it loads may lie, besides the system's folders.
fn needed(program: &Program) -> Vec<PathBuf> {
    let mut needed = installations(&program.path);
    // Its own settings name files and folders, such as a library and where it lies.
    for (_, value) in &program.env {
        needed.extend(std::env::split_paths(value).filter(|path| path.is_absolute()).map(folder_of));
    }
    for folder in lists(&["PATH"]) {
        for name in ["python3", "python"] {
            needed.extend(installations(&folder.join(name)));
        }
        needed.push(folder);
    }
    needed.extend(lists(SEARCH_VARIABLES));
    if let Some(home) = std::env::var_os("HOME") {
        needed.push(Path::new(&home).join(".local/lib"));
    }
    needed.retain(|path| path.is_absolute() && path.parent().is_some());
    needed.sort();
    needed.dedup();
    needed
}

fn lists(variables: &[&str]) -> Vec<PathBuf> {
    let values = variables.iter().filter_map(std::env::var_os);
    values.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>()).collect()
}

/// A library's neighbours are what it was built with.
fn folder_of(path: PathBuf) -> PathBuf {
    match path.parent() {
        Some(parent) if path.is_file() => parent.to_owned(),
        _ => path,
    }
}

/// `/opt/python` for `/opt/python/bin/python3`, and the same for what it is a link to.
fn installations(program: &Path) -> Vec<PathBuf> {
    let real = fs::canonicalize(program).ok();
    let of = |program: &Path| {
        let folder = program.parent()?;
        let is_bin = folder.file_name() == Some(OsStr::new("bin"));
        Some(if is_bin { folder.parent()?.to_owned() } else { folder.to_owned() })
    };
    real.iter().filter_map(|real| of(real)).chain(of(program).filter(|_| real.is_some())).collect()
}

#[cfg(test)]
mod tests;
