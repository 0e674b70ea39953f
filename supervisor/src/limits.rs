//! What the kernel lets this process have.

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// More is of no use here, and containers are often allowed a thousand times as much, which makes programs slow that
/// go through all numbers; workers inherit the limit.
const OPEN_FILES_MAX: rlim_t = 1 << 20;

/// Raises the number of files that may be open to what the administrator allows. The usual soft limit of 1024 is there for
/// programs that use `select`; a server with some thousand connections and six files for each worker needs more.
pub fn raise_open_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        let raised = hard.min(OPEN_FILES_MAX).max(soft);
        setrlimit(Resource::RLIMIT_NOFILE, raised, hard)?;
        Ok((soft, raised))
    });
    match raised {
        Ok((soft, raised)) => tracing::info!("{raised} files may be open at once; at first it was {soft}"),
        Err(error) => tracing::warn!("the number of files that may be open cannot be raised: {error}"),
    }
}
