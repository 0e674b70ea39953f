//! How single values are written, with Triton's words for what is wrong.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use nereid_ipc::sys::sandbox::Level;

use crate::fleet::confine;
use crate::frontend::restrict::{Category, Key, Restrictions};

/// true, on, 1 and false, off, 0, in any case.
pub(super) fn parse_bool(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(format!("invalid value for bool option: {text}")),
    }
}

/// A whole number.
pub(super) fn parse_number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
            format!("Provided option value is out of bound. Got {text}")
        }
        _ => format!("Invalid option value. Got {text}"),
    })
}

/// A number, or a word as for a boolean.
pub(super) fn parse_verbose(text: &str) -> Result<u32, String> {
    text.parse()
        .or_else(|_| parse_bool(text).map(u32::from))
        .map_err(|_| format!("Invalid option value. Got {text}"))
}

/// How much workers are confined.
pub(super) fn parse_sandbox(text: &str) -> Result<Level, String> {
    confine::level(text)
        .ok_or_else(|| format!("Invalid option value. Got {text}, expected off, standard or strict"))
}

/// A setting for one backend, or for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyValue {
    pub(super) backend: String,
    pub(super) key: String,
    pub(super) value: String,
}

impl FromStr for KeyValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("--backend-config option format is '<backend name>,<setting>=<value>'. Got {text}");
        let (name, setting) = match text.split_once(',') {
            Some(("", _)) => {
                return Err(format!(
                    "No backend specified. --backend-config option format is <backend name>,<setting>=<value> or \
                     <setting>=<value>. Got {text}"
                ));
            }
            Some((name, setting)) => (name, setting),
            None => ("", text),
        };
        let (key, value) = setting.split_once('=').ok_or_else(wrong)?;
        if key.is_empty() || value.is_empty() {
            return Err(wrong());
        }
        Ok(Self { backend: name.to_owned(), key: key.to_owned(), value: value.to_owned() })
    }
}

/// `<a,b>:<key>=<value>`, several times. `noun` is what Triton calls a category there; `prefix` stands before the key.
pub(super) fn restrictions(
    flag: &str,
    noun: &str,
    prefix: &str,
    values: &[String],
) -> Result<Restrictions, String> {
    let mut restrictions = Restrictions::default();
    for text in values {
        let wrong = || format!("--{flag} option format is '<config name>:<setting>=<value>'. Got {text}");
        let (names, setting) = text.split_once(':').ok_or_else(wrong)?;
        let (key, value) = setting.split_once('=').ok_or_else(wrong)?;
        for name in names.split(',') {
            let category =
                Category::from_name(name).ok_or_else(|| format!("unknown restricted {noun} '{name}' "))?;
            let key = Key::new(format!("{prefix}{key}"), value.to_owned());
            if !restrictions.add(category, key) {
                return Err(format!(
                    "restricted {noun} '{name}' can not be specified in multiple config groups"
                ));
            }
        }
    }
    Ok(restrictions)
}

/// Triton's words for a command line that is not understood.
pub(super) fn usage_error(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ErrorKind};
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if !context(ContextKind::InvalidArg).starts_with('-') => {
            format!("Unexpected argument: {}", context(ContextKind::InvalidArg))
        }
        ErrorKind::ValueValidation => {
            let flag = context(ContextKind::InvalidArg);
            let flag = flag.split([' ', '=']).next().unwrap_or_default().to_owned();
            let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            format!("Bad option: \"{flag}\".\n{reason}")
        }
        _ => error.to_string(),
    }
}
