//! Where ONNX Runtime's shared library comes from: the user's own, found without running anything.
//!
//! In this order, the first that exists: the model's parameter `onnxruntime_library`, the backend setting `library`,
//! the variables `NEREID_ONNXRUNTIME` and `ORT_DYLIB_PATH`, the Python wheel that an import on this machine would
//! find (`library::python`), and the usual folders of system libraries. A place that is named explicitly and holds no
//! library is an error; it is never passed over.
//!
//! Deliberately not here: loading, and whether the version is new enough (`crate::ffi::runtime`).

mod python;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

/// Places kept for the error message; more are only counted.
const PLACES_TOLD_MAX: usize = 24;

const SYSTEM_FOLDERS: [&str; 6] = [
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/opt/onnxruntime/lib",
];

/// The library and what was found with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Library {
    pub(crate) file: PathBuf,
    /// The folder of Python packages that it came from: CUDA's own wheels lie beside it.
    pub(crate) site_packages: Option<PathBuf>,
}

/// What the search depends on besides the file system.
pub(crate) struct Surroundings<'a> {
    /// A variable of the environment.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub(crate) current_folder: PathBuf,
}

impl fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("current_folder", &self.current_folder).finish_non_exhaustive()
    }
}

impl Surroundings<'_> {
    /// This process's.
    pub(crate) fn own() -> Self {
        Self {
            variable: &|name| std::env::var_os(name).filter(|value| !value.is_empty()),
            current_folder: std::env::current_dir().unwrap_or_default(),
        }
    }
}

/// Nothing was found, with all places that were looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotFound {
    #[error("{origin} names '{}', which is no ONNX Runtime library and no folder of one: {why}", path.display())]
    Named { origin: String, path: PathBuf, why: String },
    #[error(
        "ONNX Runtime was not found. Install it for the Python on PATH (`pip install onnxruntime`), or name the \
         library or its folder with --backend-config=onnxruntime,library=<path> or the environment variable \
         NEREID_ONNXRUNTIME. Looked at: {}",
        places.join("; ")
    )]
    Anywhere { places: Vec<String> },
}

/// Finds the library. `named` holds the explicit settings, most specific first, each with what to call it.
pub(crate) fn locate(
    named: &[(&str, PathBuf)],
    surroundings: &Surroundings<'_>,
) -> Result<Library, NotFound> {
    if let Some((origin, path)) = named.first() {
        return at(path, origin);
    }
    for name in ["NEREID_ONNXRUNTIME", "ORT_DYLIB_PATH"] {
        if let Some(value) = (surroundings.variable)(name) {
            return at(&PathBuf::from(value), &format!("the environment variable {name}"));
        }
    }
    let mut places = Places::default();
    places.note("the variables NEREID_ONNXRUNTIME and ORT_DYLIB_PATH (not set)".to_owned());
    for folder in python::package_folders(surroundings) {
        match in_packages(&folder) {
            Ok(library) => return Ok(library),
            Err(why) => places.note(format!("{} ({why})", folder.display())),
        }
    }
    let linker = (surroundings.variable)("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = std::env::split_paths(&linker).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    for folder in folders.filter(|folder| folder.is_dir()) {
        if let Some(file) = newest_in(&folder) {
            return Ok(Library { file, site_packages: None });
        }
        places.note(format!("{} (no libonnxruntime.so)", folder.display()));
    }
    Err(NotFound::Anywhere { places: places.into_list() })
}

#[derive(Default)]
struct Places {
    told: Vec<String>,
    more: usize,
}

impl Places {
    fn note(&mut self, place: String) {
        if self.told.len() < PLACES_TOLD_MAX {
            self.told.push(place);
        } else {
            self.more += 1;
        }
    }

    fn into_list(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("{} more", self.more));
        }
        self.told
    }
}

/// The library at a path that somebody named: the file itself, or in a folder of libraries, of an installation, of
/// Python packages, or of a virtual environment.
fn at(path: &Path, origin: &str) -> Result<Library, NotFound> {
    let refuse = |why: String| NotFound::Named { origin: origin.to_owned(), path: path.into(), why };
    if path.is_file() {
        return Ok(from_file(path.into()));
    }
    if !path.is_dir() {
        return Err(refuse("nothing is there".to_owned()));
    }
    let direct = ["", "lib", "lib64", "capi"].into_iter().find_map(|below| newest_in(&path.join(below)));
    if let Some(file) = direct {
        return Ok(from_file(file));
    }
    let folders = std::iter::once(path.to_path_buf()).chain(python::packages_of_prefix(path));
    let mut reasons = Vec::new();
    for folder in folders.filter(|folder| folder.is_dir()) {
        match in_packages(&folder) {
            Ok(library) => return Ok(library),
            Err(why) => reasons.push(format!("{} ({why})", folder.display())),
        }
    }
    reasons.truncate(PLACES_TOLD_MAX);
    Err(refuse(reasons.join("; ")))
}

fn from_file(file: PathBuf) -> Library {
    // capi → onnxruntime → site-packages, where it is a wheel.
    let site = file.ancestors().nth(3).filter(|site| site.join("onnxruntime/capi").is_dir());
    Library { site_packages: site.map(Path::to_path_buf), file }
}

/// The library inside a folder of Python packages, or why there is none.
fn in_packages(folder: &Path) -> Result<Library, String> {
    let capi = folder.join("onnxruntime/capi");
    if !capi.is_dir() {
        return Err("no package onnxruntime".to_owned());
    }
    match newest_in(&capi) {
        Some(file) => Ok(Library { file, site_packages: Some(folder.into()) }),
        None => {
            Err(format!("{} there carries no libonnxruntime.so; wheels from 1.19 on do", wheel_in(folder)))
        }
    }
}

/// What a folder of packages calls its ONNX Runtime: "onnxruntime 1.17.3".
pub(crate) fn wheel_in(folder: &Path) -> String {
    let names = entries(folder).into_iter().filter_map(|name| {
        let name = name.strip_suffix(".dist-info")?.to_owned();
        name.starts_with("onnxruntime").then(|| name.replacen('-', " ", 1))
    });
    names.min().unwrap_or_else(|| "the package onnxruntime".to_owned())
}

/// The file `libonnxruntime.so` or `libonnxruntime.so.<version>` with the highest version in a folder.
fn newest_in(folder: &Path) -> Option<PathBuf> {
    let versions = entries(folder).into_iter().filter_map(|name| {
        let rest = name.strip_prefix("libonnxruntime.so")?;
        let version: Vec<u32> = match rest.strip_prefix('.') {
            Some(version) => version.split('.').map(str::parse).collect::<Result<_, _>>().ok()?,
            None if rest.is_empty() => Vec::new(),
            None => return None,
        };
        Some((version, name))
    });
    let (_, name) = versions.max()?;
    Some(folder.join(name))
}

/// The names in a folder; none where it cannot be read.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(list) = std::fs::read_dir(folder) else { return Vec::new() };
    list.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}
