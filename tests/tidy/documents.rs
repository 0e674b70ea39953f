//! Documents that tell the truth: no dead link, and the table of faults is the list of fault tests.

use std::collections::BTreeSet;

use crate::report;
use crate::tree::{File, files, root};

#[test]
fn no_link_in_a_document_is_dead() {
    let mut findings = Vec::new();
    let documents: Vec<File> = files().into_iter().filter(|file| file.has_extension("md")).collect();
    for file in &documents {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, target) in links(&file.text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) =
                target.split_once('#').map_or((target.as_str(), None), |(path, anchor)| (path, Some(anchor)));
            let resolved = if path.is_empty() { file.path.clone() } else { resolve(folder, path) };
            if !root().join(&resolved).exists() {
                findings.push(format!("{}:{number}: {target}", file.path));
            } else if let Some(anchor) = anchor
                && let Some(document) = documents.iter().find(|document| document.path == resolved)
                && !headings(&document.text).contains(anchor)
            {
                findings.push(format!("{}:{number}: {resolved} has no heading '{anchor}'", file.path));
            }
        }
    }
    report("dead links", &findings);
}

#[test]
fn every_row_of_the_fault_table_names_a_test_and_every_fault_test_has_a_row() {
    let all = files();
    let table = all.iter().find(|file| file.path == "docs/FAULTS.md").expect("docs/FAULTS.md is there");
    let named = tests_named(&table.text);
    let defined = fault_tests(&all);
    let mut findings: Vec<String> = named
        .difference(&defined)
        .map(|test| format!("docs/FAULTS.md names {test}, which is not there"))
        .collect();
    findings.extend(
        defined
            .difference(&named)
            .filter(|test| test.starts_with("faults/"))
            .map(|test| format!("{test} has no row")),
    );
    for (number, line) in rows(&table.text) {
        if !line.contains("::") {
            findings.push(format!("docs/FAULTS.md:{number}: names no test"));
        }
    }
    report("docs/FAULTS.md and the tests differ", &findings);
}

/// The table's rows, without its head.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_row = |line: &str| line.starts_with("| ") && !line.starts_with("| fault |");
    text.lines().enumerate().filter(move |(_, line)| is_row(line)).map(|(index, line)| (index + 1, line))
}

/// The tests that the table names, as `folder/file::name`.
fn tests_named(text: &str) -> BTreeSet<String> {
    let cells = rows(text).flat_map(|(_, line)| line.split('`').skip(1).step_by(2));
    cells.filter(|word| word.contains("::") && word.contains('/')).map(str::to_owned).collect()
}

/// The end-to-end tests that there are: Rust and Python files below tests/, by folder, file and function.
fn fault_tests(all: &[File]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in all {
        let Some(path) = file.path.strip_prefix("tests/") else { continue };
        let Some((module, extension)) = path.rsplit_once('.') else { continue };
        let mut is_test = false;
        for line in file.text.lines().map(str::trim) {
            if line.starts_with("#[test]") {
                is_test = true;
            }
            let name = match extension {
                "rs" if is_test => line.strip_prefix("fn "),
                "py" => line.strip_prefix("def ").filter(|name| name.starts_with("test_")),
                _ => None,
            };
            if let Some((name, _)) = name.and_then(|name| name.split_once('(')) {
                found.insert(format!("{module}::{name}"));
                is_test = false;
            }
        }
    }
    found
}

/// Link targets with their lines, outside code blocks.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split([')', ' ']).next().unwrap_or_default();
            found.push((index + 1, target.to_owned()));
        }
    }
    found
}

fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchors of a document's headings: lower case, words joined by hyphens, punctuation dropped.
fn headings(text: &str) -> BTreeSet<String> {
    let slug = |title: &str| -> String {
        let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        title
            .trim()
            .to_lowercase()
            .chars()
            .filter(kept)
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    };
    text.lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| slug(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn a_relative_link_is_resolved_from_its_folder() {
    assert_eq!(resolve("docs/decisions", "../ARCHITECTURE.md"), "docs/ARCHITECTURE.md");
    assert_eq!(resolve("", "docs/./A.md"), "docs/A.md");
}
