//! The architecture's absences: what the core may not touch, where `unsafe` may stand, who may start a process.

use std::process::Command;

use crate::report;
use crate::source::{find_words, functions, is_word, line_of, mask, matching_brace};
use crate::tree::{File, root, rust_files};

/// Parts of the standard library that reach outside the process or tell the time.
const OUTSIDE: &[&str] = &["fs", "net", "thread", "process", "env", "os"];
/// Crates with a runtime, a clock or a socket.
const RUNTIMES: &[&str] =
    &["tokio", "mio", "hyper", "tonic", "async-std", "smol", "socket2", "nix", "rustix", "rand"];

#[test]
fn the_core_names_nothing_outside_itself() {
    let mut findings = Vec::new();
    for file in
        rust_files().iter().filter(|file| file.path.starts_with("supervisor/core/src/") && !file.is_test())
    {
        let masked = mask(&file.text);
        for module in OUTSIDE {
            for offset in std_uses(&masked, module) {
                findings.push(format!("{}:{}: std::{module}", file.path, line_of(&masked, offset)));
            }
        }
        for clock in ["SystemTime", "UNIX_EPOCH"] {
            for offset in find_words(&masked, clock) {
                findings.push(format!("{}:{}: {clock}", file.path, line_of(&masked, offset)));
            }
        }
    }
    report("I1: the core decides and touches nothing; it is told the time", &findings);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "asks cargo for the dependency tree; no worker is started")]
fn the_core_depends_on_no_runtime() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments =
        ["tree", "--offline", "--package=nereid-core", "--edges=normal", "--prefix=none", "--format={p}"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout);
    let crates: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains(&"nereid-core"), "the tree is not what was asked for: {tree}");
    let findings: Vec<String> =
        RUNTIMES.iter().filter(|name| crates.contains(name)).map(|name| (*name).to_owned()).collect();
    report("I1: a crate with a runtime, a clock or a socket among the core's dependencies", &findings);
}

#[test]
fn unsafe_stands_only_in_its_named_places() {
    let allowed = |path: &str| {
        let worker_ffi =
            path.starts_with("workers/") && (path.contains("/src/ffi/") || path.ends_with("/src/ffi.rs"));
        path.starts_with("ipc/src/sys/") || path == "ipc/src/arena/view.rs" || worker_ffi
    };
    let mut findings = Vec::new();
    for file in rust_files().iter().filter(|file| !allowed(&file.path)) {
        let masked = mask(&file.text);
        for offset in find_words(&masked, "unsafe") {
            findings.push(format!("{}:{}", file.path, line_of(&masked, offset)));
        }
    }
    report("I8: `unsafe` only in ipc/src/sys/, ipc/src/arena/view.rs and workers/*/src/ffi*", &findings);
}

#[test]
fn the_supervisor_crates_forbid_unsafe() {
    let findings: Vec<String> = rust_files()
        .iter()
        .filter(|file| {
            ["supervisor/src/lib.rs", "supervisor/src/main.rs", "supervisor/core/src/lib.rs"]
                .contains(&file.path.as_str())
        })
        .filter(|file| !file.text.contains("#![forbid(unsafe_code)]"))
        .map(|file| file.path.clone())
        .collect();
    report("I8: says `#![forbid(unsafe_code)]`", &findings);
}

#[test]
fn only_one_place_starts_processes() {
    const SPAWNERS: &[&str] = &["ipc/src/sys/spawn.rs", "supervisor/src/fleet/exec.rs"];
    let mut findings = Vec::new();
    for file in rust_files().iter().filter(|file| !file.is_test() && !SPAWNERS.contains(&file.path.as_str()))
    {
        let masked = without_tests(file);
        for needle in ["Command::new", "WorkerCommand::new", "posix_spawn", "execve"] {
            for (offset, _) in masked.match_indices(needle) {
                findings.push(format!("{}:{}: {needle}", file.path, line_of(&masked, offset)));
            }
        }
        for offset in find_words(&masked, "fork") {
            if masked.as_bytes().get(offset + "fork".len()) == Some(&b'(') {
                findings.push(format!("{}:{}: fork", file.path, line_of(&masked, offset)));
            }
        }
    }
    report("workers are spawned through fleet::exec and ipc::sys::spawn only", &findings);
}

#[test]
fn no_channel_is_unbounded() {
    let mut findings = Vec::new();
    for file in rust_files() {
        let masked = mask(&file.text);
        for word in ["unbounded_channel", "unbounded", "UnboundedSender", "UnboundedReceiver"] {
            for offset in find_words(&masked, word) {
                findings.push(format!("{}:{}: {word}", file.path, line_of(&masked, offset)));
            }
        }
    }
    report("I5: every queue has a bound", &findings);
}

#[test]
fn the_supervisor_links_no_model_library() {
    let lock = std::fs::read_to_string(root().join("supervisor/Cargo.toml")).expect("the manifest is there");
    let findings: Vec<String> = ["ort-sys", "ort", "pyo3", "cudarc", "libloading", "tch"]
        .iter()
        .filter(|name| lock.lines().any(|line| line.split(['.', ' ', '=']).next() == Some(**name)))
        .map(|name| (*name).to_owned())
        .collect();
    report("I2: the supervisor loads no model library and holds no CUDA context", &findings);
}

/// Offsets at which `std::module` is named, also inside a group such as `std::{fs, io}`.
fn std_uses(masked: &str, module: &str) -> Vec<usize> {
    let mut found: Vec<usize> = masked.match_indices(&format!("std::{module}")).map(|(at, _)| at).collect();
    let after_name = |at: &usize| {
        let end = at + "std::".len() + module.len();
        masked.as_bytes().get(end).is_none_or(|&byte| !is_word(byte))
    };
    found.retain(after_name);
    for (at, _) in masked.match_indices("std::{") {
        let open = at + "std::".len();
        let group = &masked[open + 1..matching_brace(masked, open)];
        let mut depth = 0_usize;
        for part in group.split_inclusive([',', '{', '}']) {
            let name =
                part.trim_start().split(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
            if depth == 0 && name == Some(module) {
                found.push(at);
            }
            depth += part.matches('{').count();
            depth = depth.saturating_sub(part.matches('}').count());
        }
    }
    found
}

/// The masked text without inline `mod tests { … }` blocks.
fn without_tests(file: &File) -> String {
    let mut masked = mask(&file.text);
    if let Some(at) = masked.find("mod tests {") {
        let open = at + "mod tests ".len();
        let close = matching_brace(&masked, open);
        let blank: String =
            masked[open..close].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect();
        masked.replace_range(open..close, &blank);
    }
    masked
}

#[test]
fn a_group_import_is_seen_through() {
    assert_eq!(std_uses("use std::{collections::{env}, fs, io};", "fs").len(), 1);
    assert!(std_uses("use std::{collections::{env}, io}; std::environment();", "env").is_empty());
    assert!(functions("").is_empty());
}
