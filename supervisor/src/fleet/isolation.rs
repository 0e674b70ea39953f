//! What this machine offers to keep workers apart, in words: for the log at the start, and for operators who ask.
//!
//! The server starts without any of it, since a missing part is the machine's property and no mistake of anybody's; but
//! nobody shall believe in a wall that is not there.

use std::sync::{Arc, OnceLock};

use nereid_ipc::sys::sandbox::Support;

use super::cgroup::Groups;

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

static FACTS: OnceLock<Vec<Fact>> = OnceLock::new();

/// What the server has found at its start, for the admin interface.
#[must_use]
pub fn lines() -> Vec<String> {
    FACTS.get().into_iter().flatten().map(|fact| fact.text.clone()).collect()
}

/// Once, at the start: looks and tells the log.
pub fn start(groups: &Result<Arc<Groups>, String>, memory_limit: Option<u64>) {
    let support = Support::detect();
    let groups = match groups {
        Ok(groups) => Ok(groups.controllers()),
        Err(why) => Err(why.as_str()),
    };
    let facts = vec![landlock(support.landlock), seccomp(support.seccomp), cgroup(groups, memory_limit)];
    for Fact { text, is_whole } in FACTS.get_or_init(|| facts) {
        if *is_whole {
            tracing::info!("isolation: {text}");
        } else {
            tracing::warn!("isolation: {text}");
        }
    }
}

/// Without control groups there are other ways, so it is only worth a warning if there is a limit that they keep less well.
fn cgroup(controllers: Result<&[String], &str>, memory_limit: Option<u64>) -> Fact {
    let sampled = "memory limits of workers are kept by looking at their memory every 100 ms";
    let (text, limits_memory) = match controllers {
        Ok(found) if found.iter().any(|controller| controller == "memory") => {
            let found = found.join(", ");
            (format!("cgroup v2: a group for each worker ({found}); the kernel keeps memory limits"), true)
        }
        Ok(found) => {
            let found = if found.is_empty() { "no controller".to_owned() } else { found.join(", ") };
            (
                format!("cgroup v2: a group for each worker ({found}), but no memory controller; {sampled}"),
                false,
            )
        }
        Err(why) => (format!("cgroup v2: {why}; {sampled}"), false),
    };
    Fact { text, is_whole: limits_memory || memory_limit.is_none() }
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

    #[test]
    fn which_way_memory_limits_are_kept_is_said_and_matters_if_there_is_one() {
        let kept = cgroup(Ok(&["cpu".to_owned(), "memory".to_owned()]), Some(1));
        assert!(kept.is_whole && kept.text.contains("the kernel keeps memory limits"), "{kept:?}");
        for found in [Ok(&["cpu".to_owned()][..]), Ok(&[]), Err("not mounted")] {
            assert!(cgroup(found, None).is_whole);
            let sampled = cgroup(found, Some(1));
            assert!(!sampled.is_whole && sampled.text.contains("every 100 ms"), "{sampled:?}");
        }
    }
}
