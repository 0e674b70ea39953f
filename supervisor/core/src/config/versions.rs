//! Which versions of a model there are, by the names of its directories, and which of them are served, by its policy.

use super::RawConfig;
use nereid_proto::inference::model_version_policy::PolicyChoice;

/// Directories of a model that hold something else than a version.
const NO_VERSIONS: [&str; 3] = ["warmup", "initial_state", "configs"];

/// The versions found, and what an operator should hear about the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionDirectories {
    /// Ascending.
    pub versions: Vec<i64>,
    pub warnings: Vec<String>,
}

/// Why a directory is no version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAVersion {
    /// A directory with a purpose of its own.
    Reserved,
    LeadingZeros,
    NotANumber,
}

/// The version that a directory's name means.
///
/// Only plain decimal numbers are versions: a name such as `1abc` or `-1` could never be found again by its number.
pub fn parse_name(name: &str) -> Result<i64, NotAVersion> {
    if NO_VERSIONS.contains(&name) {
        return Err(NotAVersion::Reserved);
    }
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotAVersion::NotANumber);
    }
    if name.len() > 1 && name.starts_with('0') {
        return Err(NotAVersion::LeadingZeros);
    }
    name.parse().map_err(|_| NotAVersion::NotANumber)
}

impl VersionDirectories {
    /// Sorts the names of a model's sub-directories into versions and warnings.
    pub fn read<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut found = Self::default();
        for name in names {
            match parse_name(name) {
                Ok(version) => found.versions.push(version),
                Err(NotAVersion::Reserved) => {}
                Err(NotAVersion::LeadingZeros) => found.warnings.push(format!(
                    "ignore version directory '{name}' which contains leading zeros in its directory name"
                )),
                Err(NotAVersion::NotANumber) => found.warnings.push(format!(
                    "ignore version directory '{name}' which fails to convert to integral number"
                )),
            }
        }
        found.versions.sort_unstable();
        found
    }
}

/// Which of the versions that are there are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The highest so many; at least one.
    Latest(u32),
    All,
    Specific(Vec<i64>),
}

/// What a policy chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Ascending, each once.
    pub versions: Vec<i64>,
    pub warnings: Vec<String>,
}

impl VersionPolicy {
    /// The policy of a configuration; the latest version where it names none.
    #[must_use]
    pub fn of(raw: &RawConfig) -> Self {
        match raw.version_policy.as_ref().and_then(|policy| policy.policy_choice.as_ref()) {
            Some(PolicyChoice::Latest(latest)) => Self::Latest(latest.num_versions.max(1)),
            Some(PolicyChoice::All(_)) => Self::All,
            Some(PolicyChoice::Specific(specific)) => Self::Specific(specific.versions.clone()),
            None => Self::Latest(1),
        }
    }

    /// Chooses among the versions that are present, given ascending.
    #[must_use]
    pub fn select(&self, model_name: &str, present: &[i64]) -> Selection {
        match self {
            Self::All => Selection { versions: present.to_vec(), warnings: Vec::new() },
            Self::Latest(count) => {
                let count = usize::try_from(*count).unwrap_or(usize::MAX);
                let from = present.len().saturating_sub(count);
                Selection { versions: present[from..].to_vec(), warnings: Vec::new() }
            }
            Self::Specific(wanted) => {
                let mut selection = Selection::default();
                for &version in wanted {
                    if present.contains(&version) {
                        selection.versions.push(version);
                    } else {
                        selection.warnings.push(format!(
                            "version {version} is specified for model '{model_name}', but the version directory is \
                             not present"
                        ));
                    }
                }
                selection.versions.sort_unstable();
                selection.versions.dedup();
                selection
            }
        }
    }
}

#[cfg(test)]
mod tests;
