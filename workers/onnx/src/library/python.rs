//! The folders in which a Python on this machine would look for packages, worked out without running it.
//!
//! A worker starts no process, so this follows what is on disk: the variables that Python reads, virtual environments
//! (`pyvenv.cfg`), the interpreters on PATH and the prefix that each belongs to, pyenv's shims (which are scripts),
//! and the user's own packages.
//!
//! Deliberately not here: `.pth` files and zipped packages; a wheel with a shared library lies in neither.

use super::{Surroundings, entries};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The largest `pyvenv.cfg` or version file that is read; real ones have a few hundred bytes.
const SETTINGS_BYTES_MAX: u64 = 64 * 1024;

/// How deep `include-system-site-packages` is followed.
const NESTED_ENVIRONMENTS_MAX: usize = 4;

/// Every folder of packages, in the order of preference and without repetition.
pub(super) fn package_folders(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    let variable = surroundings.variable;
    let mut folders = Vec::new();
    let mut add = |folder: PathBuf| {
        if folder.is_dir() && !folders.contains(&folder) {
            folders.push(folder);
        }
    };
    for folder in std::env::split_paths(&variable("PYTHONPATH").unwrap_or_default()) {
        add(folder);
    }
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = variable(name) {
            packages_of_prefix(Path::new(&prefix)).into_iter().for_each(&mut add);
        }
    }
    for folder in std::env::split_paths(&variable("PATH").unwrap_or_default()) {
        for prefix in prefixes_of_path_entry(&folder, surroundings) {
            packages_of_prefix(&prefix).into_iter().for_each(&mut add);
        }
    }
    let user = variable("PYTHONUSERBASE").map(PathBuf::from);
    let user = user.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local")));
    if let Some(user) = user {
        packages_of_prefix(&user).into_iter().for_each(&mut add);
    }
    folders
}

/// The installations that the `python3` in a folder of PATH belongs to; none where there is no such file.
fn prefixes_of_path_entry(folder: &Path, surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    let interpreter =
        ["python3", "python"].into_iter().map(|name| folder.join(name)).find(|file| file.is_file());
    let Some(interpreter) = interpreter else { return Vec::new() };
    let prefix = folder.parent().unwrap_or(folder);
    if prefix.join("pyvenv.cfg").is_file() {
        return vec![prefix.to_path_buf()];
    }
    if folder.ends_with("shims") && prefix.join("versions").is_dir() {
        let versions = pyenv_versions(prefix, surroundings);
        return versions.into_iter().map(|version| prefix.join("versions").join(version)).collect();
    }
    let mut prefixes = vec![prefix.to_path_buf()];
    // A link to an interpreter elsewhere, /usr/local/bin/python3 → /opt/python/bin/python3.12, say.
    if let Ok(file) = fs::canonicalize(&interpreter)
        && let Some(prefix) = file.parent().and_then(Path::parent)
    {
        prefixes.insert(0, prefix.to_path_buf());
    }
    prefixes
}

/// Which versions pyenv would run here: its variable, else the nearest `.python-version`, else its global file.
fn pyenv_versions(root: &Path, surroundings: &Surroundings<'_>) -> Vec<String> {
    if let Some(versions) =
        (surroundings.variable)("PYENV_VERSION").and_then(|value| value.into_string().ok())
    {
        return versions.split(':').map(str::to_owned).collect();
    }
    let local = surroundings.current_folder.ancestors().map(|folder| folder.join(".python-version"));
    let text = local.chain([root.join("version")]).find_map(|file| read_settings(&file));
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The folders of packages below one installation or virtual environment, the newest Python first.
pub(super) fn packages_of_prefix(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut prefix = prefix.to_path_buf();
    for _ in 0..NESTED_ENVIRONMENTS_MAX {
        folders.extend(own_packages(&prefix));
        let Some(parent) = parent_environment(&prefix) else { break };
        prefix = parent;
    }
    folders
}

fn own_packages(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    // Debian keeps what pip installs for the system's Python below /usr/local.
    let below = ["lib", "lib64", "local/lib"];
    for library in below.iter().map(|below| prefix.join(below)) {
        let mut versions: Vec<(u32, String)> = entries(&library)
            .into_iter()
            .filter_map(|name| {
                Some((name.strip_prefix("python3.")?.trim_end_matches('t').parse().ok()?, name))
            })
            .collect();
        versions.sort_unstable_by(|a, b| b.cmp(a));
        for (_, name) in versions {
            folders.push(library.join(&name).join("site-packages"));
            folders.push(library.join(&name).join("dist-packages"));
        }
    }
    folders.push(prefix.join("lib/python3/dist-packages"));
    folders
}

/// The installation that a virtual environment takes packages from too, where its `pyvenv.cfg` says so.
fn parent_environment(prefix: &Path) -> Option<PathBuf> {
    let settings = read_settings(&prefix.join("pyvenv.cfg"))?;
    let setting = |wanted: &str| {
        let lines = settings.lines().filter_map(|line| line.split_once('='));
        lines
            .map(|(key, value)| (key.trim(), value.trim()))
            .find(|(key, _)| *key == wanted)
            .map(|(_, value)| value)
    };
    if !setting("include-system-site-packages")?.eq_ignore_ascii_case("true") {
        return None;
    }
    Path::new(setting("home")?).parent().map(Path::to_path_buf)
}

/// A small text file; none where it cannot be read or is no such file.
fn read_settings(file: &Path) -> Option<String> {
    let data = fs::metadata(file).ok()?;
    if !data.is_file() || data.len() > SETTINGS_BYTES_MAX {
        return None;
    }
    fs::read_to_string(file).ok()
}
