//! Every module says why it exists, and nothing tells of the machine that it was written on.
//!
//! A `tests.rs`, and what lies in a crate's own `tests/`, need no comment: their names say what they test.

use crate::report;
use crate::sizes::is_script;
use crate::tree::{File, files, rust_files, top_level};

#[test]
fn every_rust_module_opens_with_a_module_comment() {
    let opens = |file: &File| {
        let mut lines =
            file.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("#!["));
        lines.next().is_some_and(|line| line.starts_with("//!") && line.len() > "//! ".len())
    };
    let findings: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| !is_unit_test(file) && !opens(file))
        .map(|file| file.path)
        .collect();
    report("a module opens with `//!`: why it exists and what it deliberately does not do", &findings);
}

/// `foo/tests.rs`, and the parts of either kind of test of one crate.
fn is_unit_test(file: &File) -> bool {
    file.name() == "tests.rs" || file.path.contains("/tests/")
}

#[test]
fn no_module_is_only_a_placeholder() {
    let findings: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| file.text.starts_with(concat!("//! Place", "holder")))
        .map(|file| file.path)
        .collect();
    report("write it or leave it out", &findings);
}

#[test]
fn every_python_module_opens_with_a_docstring() {
    let opens = |file: &File| {
        let mut lines = file.text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        lines.next().is_none_or(|line| line.starts_with("\"\"\""))
    };
    let is_python = |file: &File| {
        file.has_extension("py") || file.text.lines().next().is_some_and(|line| line.ends_with("python3"))
    };
    let findings: Vec<String> =
        files().into_iter().filter(|file| is_python(file) && !opens(file)).map(|file| file.path).collect();
    report("a Python module opens with a docstring", &findings);
}

#[test]
fn every_shell_script_says_what_it_does_below_its_first_line() {
    let says = |file: &File| file.text.lines().nth(1).is_some_and(|line| line.starts_with("# "));
    let is_shell =
        |file: &File| is_script(file) && file.text.lines().next().is_some_and(|line| line.ends_with("sh"));
    let findings: Vec<String> =
        files().into_iter().filter(|file| is_shell(file) && !says(file)).map(|file| file.path).collect();
    report("a script says on its second line what it does", &findings);
}

#[test]
fn no_file_is_named_mod_rs() {
    let findings: Vec<String> =
        rust_files().into_iter().filter(|file| file.name() == "mod.rs").map(|file| file.path).collect();
    report("`foo.rs` is the concept, `foo/` its parts", &findings);
}

#[test]
fn the_top_folder_holds_what_the_readme_says_and_nothing_else() {
    const EXPECTED: &[&str] = &[
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "docs/",
        "ipc/",
        "model_repository/",
        "proto/",
        "scripts/",
        "supervisor/",
        "tests/",
        "workers/",
    ];
    let mut findings = Vec::new();
    for name in top_level() {
        // Tools keep their settings in dotfiles; `target/` is the build's.
        if !name.starts_with('.') && name != "target/" && !EXPECTED.contains(&name.as_str()) {
            findings.push(name);
        }
    }
    report("the top folder stays as it is; put it into one of the folders there", &findings);
}

#[test]
fn no_file_names_a_path_of_somebodys_machine() {
    // Put together here, so that this file does not name them.
    let needles = ["root", "home", "work", "Users"].map(|folder| format!("/{folder}/"));
    // A path starts after one of these; after a letter it would be a folder of ours.
    let starts_path = |before: Option<char>| {
        before.is_none_or(|letter| !letter.is_alphanumeric() && !"._-$}".contains(letter))
    };
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path != "Cargo.lock") {
        for (number, line) in file.text.lines().enumerate() {
            for needle in &needles {
                let hit = |at: usize| starts_path(line[..at].chars().next_back());
                if line.match_indices(needle.as_str()).any(|(at, _)| hit(at)) {
                    findings.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
                }
            }
        }
    }
    report("a path that exists on one machine only", &findings);
}
