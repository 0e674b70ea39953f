//! The search, in folders made for it: none of these libraries is loaded.

use super::{Library, NotFound, Surroundings, locate};
use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// A machine's file system and environment, as far as the search sees them.
struct Machine {
    root: PathBuf,
    variables: HashMap<&'static str, OsString>,
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _removed = fs::remove_dir_all(&self.root);
    }
}

impl Machine {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("nereid-library-{}-{number}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Self { root: root.canonicalize().unwrap(), variables: HashMap::new() }
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A wheel of ONNX Runtime in a folder of packages.
    fn wheel(&self, site: &str, version: &str) -> Library {
        self.file(&format!("{site}/onnxruntime-{version}.dist-info/METADATA"), "");
        let file = self.file(&format!("{site}/onnxruntime/capi/libonnxruntime.so.{version}"), "");
        Library { file, site_packages: Some(self.root.join(site)) }
    }

    fn set(&mut self, name: &'static str, value: impl AsRef<Path>) {
        self.variables.insert(name, self.root.join(value).into());
    }

    fn locate(&self, named: &[(&str, PathBuf)]) -> Result<Library, NotFound> {
        let variable = |name: &str| self.variables.get(name).cloned();
        locate(named, &Surroundings { variable: &variable, current_folder: self.root.join("work/here") })
    }
}

#[test]
fn a_setting_comes_before_variables_and_variables_before_python() {
    let mut machine = Machine::new();
    let of_setting = machine.file("setting/libonnxruntime.so", "");
    let of_variable = machine.file("variable/libonnxruntime.so.1.20.0", "");
    let of_python = machine.wheel("venv/lib/python3.11/site-packages", "1.22.0");
    machine.set("VIRTUAL_ENV", "venv");
    assert_eq!(machine.locate(&[]).unwrap(), of_python);
    machine.set("ORT_DYLIB_PATH", "variable/libonnxruntime.so.1.20.0");
    assert_eq!(machine.locate(&[]).unwrap().file, of_variable);
    machine.set("NEREID_ONNXRUNTIME", "variable");
    assert_eq!(machine.locate(&[]).unwrap().file, of_variable);
    assert_eq!(machine.locate(&[("the setting", of_setting.clone())]).unwrap().file, of_setting);
}

#[test]
fn a_named_place_without_the_library_is_an_error_and_not_passed_over() {
    let mut machine = Machine::new();
    machine.wheel("venv/lib/python3.11/site-packages", "1.22.0");
    machine.set("VIRTUAL_ENV", "venv");
    machine.set("NEREID_ONNXRUNTIME", "nowhere");
    let error = machine.locate(&[]).unwrap_err().to_string();
    assert!(error.contains("NEREID_ONNXRUNTIME") && error.contains("nowhere"), "{error}");
}

#[test]
fn a_named_wheel_that_is_too_old_is_told_with_its_version() {
    let mut machine = Machine::new();
    machine.file("old/onnxruntime/capi/_pybind_state.py", "");
    machine.file("old/onnxruntime-1.17.3.dist-info/METADATA", "");
    machine.set("NEREID_ONNXRUNTIME", "old");
    let error = machine.locate(&[]).unwrap_err().to_string();
    assert!(
        error.contains("onnxruntime 1.17.3 there carries no libonnxruntime.so; wheels from 1.19"),
        "{error}"
    );
}

#[test]
fn a_folder_may_be_of_libraries_of_packages_or_an_environment() {
    let machine = Machine::new();
    let wheel = machine.wheel("venv/lib/python3.11/site-packages", "1.22.0");
    for folder in
        ["venv", "venv/lib/python3.11/site-packages", "venv/lib/python3.11/site-packages/onnxruntime/capi"]
    {
        assert_eq!(machine.locate(&[("it", machine.root.join(folder))]).unwrap(), wheel, "{folder}");
    }
    assert_eq!(machine.locate(&[("it", wheel.file.clone())]).unwrap(), wheel);
    let archive = machine.file("onnxruntime-linux-x64/lib/libonnxruntime.so.1.21.0", "");
    let found = machine.locate(&[("it", machine.root.join("onnxruntime-linux-x64"))]).unwrap();
    assert_eq!(found, Library { file: archive, site_packages: None });
}

#[test]
fn the_highest_version_of_a_folder_counts_as_numbers() {
    let machine = Machine::new();
    for version in ["", ".1", ".1.9.9", ".1.22.0", ".1.8.0", ".backup"] {
        machine.file(&format!("lib/libonnxruntime.so{version}"), "");
    }
    machine.file("lib/libonnxruntime_providers_shared.so", "");
    let found = machine.locate(&[("it", machine.root.join("lib"))]).unwrap();
    assert!(found.file.ends_with("libonnxruntime.so.1.22.0"), "{found:?}");
}

#[test]
fn the_python_on_path_may_be_a_virtual_environment() {
    let mut machine = Machine::new();
    machine.file("venv/bin/python3", "");
    machine.file("venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n");
    let wheel = machine.wheel("venv/lib/python3.12/site-packages", "1.22.0");
    machine.set("PATH", "venv/bin");
    assert_eq!(machine.locate(&[]).unwrap(), wheel);
}

#[test]
fn an_environment_may_take_packages_from_the_system() {
    let mut machine = Machine::new();
    let home = machine.root.join("usr/bin");
    machine.file("venv/bin/python3", "");
    machine.file(
        "venv/pyvenv.cfg",
        &format!("home = {}\ninclude-system-site-packages = true\n", home.display()),
    );
    let wheel = machine.wheel("usr/local/lib/python3.11/dist-packages", "1.22.0");
    machine.set("PATH", "venv/bin");
    assert_eq!(machine.locate(&[]).unwrap(), wheel);
}

#[test]
fn a_link_on_path_leads_to_the_installation() {
    let mut machine = Machine::new();
    let python = machine.file("opt/python/bin/python3.12", "");
    fs::create_dir_all(machine.root.join("bin")).unwrap();
    symlink(&python, machine.root.join("bin/python3")).unwrap();
    let wheel = machine.wheel("opt/python/lib/python3.12/site-packages", "1.22.0");
    machine.set("PATH", "bin");
    assert_eq!(machine.locate(&[]).unwrap(), wheel);
}

#[test]
fn a_shim_of_pyenv_leads_to_the_chosen_version() {
    let mut machine = Machine::new();
    machine.file("pyenv/shims/python3", "#!/usr/bin/env bash\n");
    machine.file("pyenv/version", "3.11.7\n");
    let global = machine.wheel("pyenv/versions/3.11.7/lib/python3.11/site-packages", "1.22.0");
    let other = machine.wheel("pyenv/versions/3.12.1/lib/python3.12/site-packages", "1.23.0");
    machine.set("PATH", "pyenv/shims");
    assert_eq!(machine.locate(&[]).unwrap(), global);
    machine.file("work/.python-version", "3.12.1\n");
    assert_eq!(machine.locate(&[]).unwrap(), other);
    machine.variables.insert("PYENV_VERSION", "3.11.7".into());
    assert_eq!(machine.locate(&[]).unwrap(), global);
}

#[test]
fn the_users_own_packages_come_last() {
    let mut machine = Machine::new();
    let wheel = machine.wheel("home/.local/lib/python3.11/site-packages", "1.22.0");
    machine.set("HOME", "home");
    assert_eq!(machine.locate(&[]).unwrap(), wheel);
    let base = machine.wheel("base/lib/python3.11/site-packages", "1.22.0");
    machine.set("PYTHONUSERBASE", "base");
    assert_eq!(machine.locate(&[]).unwrap(), base);
    let first = machine.wheel("first", "1.22.0");
    machine.set("PYTHONPATH", "first");
    assert_eq!(machine.locate(&[]).unwrap(), first);
}

#[test]
fn a_folder_of_the_linker_serves_too() {
    let mut machine = Machine::new();
    let file = machine.file("libs/libonnxruntime.so.1.20.0", "");
    machine.set("LD_LIBRARY_PATH", "libs");
    assert_eq!(machine.locate(&[]).unwrap(), Library { file, site_packages: None });
}

#[test]
fn the_error_tells_the_places_and_what_to_do() {
    let mut machine = Machine::new();
    machine.file("venv/lib/python3.11/site-packages/onnxruntime/capi/_pybind_state.py", "");
    machine.file("venv/lib/python3.11/site-packages/onnxruntime-1.17.3.dist-info/METADATA", "");
    machine.file("conda/lib/python3.12/site-packages/other.py", "");
    machine.set("VIRTUAL_ENV", "venv");
    machine.set("CONDA_PREFIX", "conda");
    // A machine with a library for the whole system finds that one.
    let Err(error) = machine.locate(&[]) else { return };
    let error = error.to_string();
    for part in [
        "`pip install onnxruntime`",
        "--backend-config=onnxruntime,library=<path>",
        "NEREID_ONNXRUNTIME",
        "venv/lib/python3.11/site-packages (onnxruntime 1.17.3 there carries no libonnxruntime.so; wheels from 1.19",
        "conda/lib/python3.12/site-packages (no package onnxruntime)",
    ] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn a_long_search_is_told_in_part() {
    let mut machine = Machine::new();
    let folders: Vec<PathBuf> = (0..100).map(|n| machine.root.join(format!("path{n}"))).collect();
    folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
    machine.variables.insert("PYTHONPATH", std::env::join_paths(&folders).unwrap());
    let Err(error) = machine.locate(&[]) else { return };
    let error = error.to_string();
    assert!(error.contains("path0 (") && !error.contains("path99 (") && error.ends_with(" more"), "{error}");
}
