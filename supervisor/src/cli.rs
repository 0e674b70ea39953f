//! The command line: `nereid serve` with Triton's flags where they mean the same.
//!
//! Under the name `tritonserver` the program is `nereid serve`, so that a deployment switches by exchanging a binary.
//! A flag of Triton's that is not served yet is never swallowed: it is refused where ignoring it would change what is
//! served or who may ask ([`later`]), and named in the log where it only tunes.

mod convert;
mod flags;
mod later;
mod values;

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory, FromArgMatches};

use crate::options::Options;

/// What the command line asks for.
#[derive(Debug)]
pub enum Command {
    Serve(Box<Options>),
    /// Text for stdout, then the end with exit code 0.
    Print(String),
}

/// Why the command line is not understood. Printed after the usage; the exit code is 1, as Triton's.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

/// The names under which the server starts without being told `serve`.
const SERVER_NAMES: &[&str] = &["tritonserver"];

/// Understands a command line, the program's name first.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().map(OsString::as_os_str).unwrap_or_default();
    let base = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !SERVER_NAMES.contains(&base.as_str()) {
        match arguments.get(1).map(|word| word.to_string_lossy().into_owned()).as_deref() {
            Some("serve") => drop(arguments.remove(1)),
            Some("--version" | "-V") => {
                return Ok(Command::Print(format!("nereid {}\n", env!("CARGO_PKG_VERSION"))));
            }
            Some("--help" | "-h" | "help") => return Ok(Command::Print(overview())),
            None => return Err(UsageError(overview())),
            Some(word) => {
                return Err(UsageError(format!(
                    "unknown command '{word}': the commands are `nereid serve`\n"
                )));
            }
        }
    }
    serve(&arguments)
}

fn overview() -> String {
    "Usage: nereid serve --model-repository <path> [flags]\n\n\
     Serves the models of a repository, each instance in a process of its own.\n\
     `nereid serve --help` lists the flags; `nereid --version` prints the version.\n"
        .to_owned()
}

fn serve(arguments: &[OsString]) -> Result<Command, UsageError> {
    let command = later::add(flags::Flags::command());
    let matches = match command.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => {
            return Ok(Command::Print(error.to_string()));
        }
        Err(error) => return Err(UsageError(values::usage_error(&error))),
    };
    let warnings = later::check(&matches)?;
    let flags = flags::Flags::from_arg_matches(&matches).map_err(|error| UsageError(error.to_string()))?;
    convert::options(flags, warnings).map(|options| Command::Serve(Box::new(options)))
}

#[cfg(test)]
mod tests;
