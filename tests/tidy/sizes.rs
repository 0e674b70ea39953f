//! Files of at most 500 lines, functions of at most 70: what a reader can hold at once.

use crate::report;
use crate::source::{functions, mask};
use crate::tree::{File, files, rust_files};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

#[test]
fn no_source_file_is_longer_than_five_hundred_lines() {
    let too_long = |file: &File| {
        let lines = file.text.lines().count();
        (lines > FILE_LINES_MAX).then(|| format!("{}: {lines} lines", file.path))
    };
    let is_source = |file: &File| {
        file.has_extension("rs") || file.has_extension("py") || file.has_extension("sh") || is_script(file)
    };
    let findings: Vec<String> = files().iter().filter(|file| is_source(file)).filter_map(too_long).collect();
    report(&format!("at most {FILE_LINES_MAX} lines a file: give each subject its own"), &findings);
}

#[test]
fn no_rust_function_is_longer_than_seventy_lines() {
    let mut findings = Vec::new();
    for file in rust_files() {
        for function in functions(&mask(&file.text)) {
            if function.lines > FUNCTION_LINES_MAX {
                findings.push(format!(
                    "{}:{}: {} has {} lines",
                    file.path, function.line, function.name, function.lines
                ));
            }
        }
    }
    report(&format!("at most {FUNCTION_LINES_MAX} lines a function"), &findings);
}

#[test]
fn no_python_function_is_longer_than_seventy_lines() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.has_extension("py")) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            if trimmed.starts_with("def ") || trimmed.starts_with("async def ") {
                let length = python_block(&lines[index..]);
                if length > FUNCTION_LINES_MAX {
                    findings.push(format!("{}:{}: {length} lines: {trimmed}", file.path, index + 1));
                }
            }
        }
    }
    report(&format!("at most {FUNCTION_LINES_MAX} lines a function"), &findings);
}

/// Lines of the block that the first line opens: up to the last one that is indented deeper.
fn python_block(lines: &[&str]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[0]);
    // A signature over several lines ends with a bracket at the function's own indentation.
    let belongs = |line: &&&str| line.trim().is_empty() || indent(line) > own || line.trim().starts_with(')');
    let block = lines.iter().skip(1).take_while(belongs);
    let blank_tail =
        block.clone().collect::<Vec<_>>().iter().rev().take_while(|line| line.trim().is_empty()).count();
    1 + block.count() - blank_tail
}

/// A script without an extension.
pub(crate) fn is_script(file: &File) -> bool {
    file.text.starts_with("#!/")
}
