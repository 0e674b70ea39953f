//! The rules that no compiler checks, as tests: sizes, words, absences, and documents that tell the truth.
//!
//! Each test lists every offender with its file and line. The tests read the working tree, so a file that is not
//! committed yet counts too. They do not look at generated code, dependencies or build outputs.

mod documents;
mod invariants;
mod sizes;
mod source;
mod tree;
mod words;

/// Fails with all findings, one a line.
fn report(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}\n", findings.join("\n  "));
}
