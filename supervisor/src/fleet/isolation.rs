//! What this machine offers to keep workers apart, in words: for the log at the start, and for operators who ask.
//!
//! The server starts without any of it, since a missing part is the machine's property and no mistake of anybody's; but
//! nobody shall believe in a wall that is not there.

use nereid_ipc::sys::sandbox::Support;

/// What Landlock has learned, by the version of its interface.
const LANDLOCK_PARTS: &[(u32, &str)] = &[
    (2, "moving files between folders"),
    (3, "truncating files"),
    (4, "TCP ports"),
    (5, "device controls"),
    (6, "signals and abstract sockets"),
];

/// One fact about this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub text: String,
    /// It is there, whole.
    pub is_whole: bool,
}

/// All of them.
#[must_use]
pub fn facts() -> Vec<Fact> {
    let support = Support::detect();
    vec![landlock(support.landlock), seccomp(support.seccomp)]
}

/// For the admin interface.
#[must_use]
pub fn lines() -> Vec<String> {
    facts().into_iter().map(|fact| fact.text).collect()
}

/// Once, at the start.
pub fn log() {
    for Fact { text, is_whole } in facts() {
        if is_whole {
            tracing::info!("isolation: {text}");
        } else {
            tracing::warn!("isolation: {text}");
        }
    }
}

fn landlock(version: Option<u32>) -> Fact {
    let Some(version) = version else {
        return Fact {
            text: "Landlock: not available in this kernel; workers can write whatever this user can"
                .to_owned(),
            is_whole: false,
        };
    };
    let missing = LANDLOCK_PARTS.iter().filter(|&&(since, _)| since > version);
    let missing: Vec<_> = missing.map(|&(since, what)| format!("{what} (needs {since})")).collect();
    let text = if missing.is_empty() {
        format!("Landlock: ABI {version}")
    } else {
        format!("Landlock: ABI {version}, which cannot restrict {}", missing.join(", "))
    };
    Fact { text, is_whole: missing.is_empty() }
}

fn seccomp(is_there: bool) -> Fact {
    let text = if is_there {
        "seccomp: available"
    } else {
        "seccomp: not available in this kernel; no system call is refused to workers"
    };
    Fact { text: text.to_owned(), is_whole: is_there }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_version_that_has_it() {
        assert_eq!(landlock(Some(7)), Fact { text: "Landlock: ABI 7".to_owned(), is_whole: true });
        let old = landlock(Some(4));
        assert!(!old.is_whole);
        assert_eq!(
            old.text,
            "Landlock: ABI 4, which cannot restrict device controls (needs 5), signals and abstract sockets (needs 6)"
        );
        assert!(landlock(None).text.contains("not available"));
        assert!(seccomp(false).text.contains("not available"));
    }
}
