//! Which workers this process has: the one place that knows, for those who look at `/proc`.
//!
//! Each worker is started with a marker in its environment that no other process of this machine has had, and hands it
//! down to whatever it starts. Nothing here looks at a process.

use super::processes;
use std::{
    collections::{BTreeMap, VecDeque},
    process,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// The variable that holds the marker.
pub const MARKER: &str = "NEREID_WORKER";
/// Pipes and sockets of dead workers that are remembered: four of each of the last ones.
const REMAINS_MAX: usize = 1024;

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { begun: 0, ended: 0, living: BTreeMap::new(), remains: VecDeque::new() });

/// All workers at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Registry {
    /// Forks that were ordered, and those that have come to their end: a worker, or an error.
    begun: u64,
    ended: u64,
    /// By marker; no number while it is being born.
    pub(super) living: BTreeMap<String, Option<u32>>,
    /// The inodes of the pipes and sockets of workers that have died.
    pub(super) remains: VecDeque<u64>,
}

impl Registry {
    /// How many forks there were; `None` while one goes on. As long as this stays the same, every process in `/proc` that
    /// may be a worker is in the list.
    pub(super) fn forks(&self) -> Option<u64> {
        (self.begun == self.ended).then_some(self.begun)
    }
}

/// A copy of the list.
pub(super) fn now() -> Registry {
    registry().clone()
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all markers of this process begin with, and those of no other: `/proc` may show processes of several servers.
pub(super) fn prefix() -> &'static str {
    static PREFIX: OnceLock<String> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let pid = process::id();
        let started = processes::one(pid).map_or(0, |own| own.started);
        format!("{pid}.{started}.")
    })
}

/// One worker's place in the list. Dropping it says that the worker is dead and was reaped, or was never born.
#[derive(Debug)]
pub(super) struct Registration {
    marker: String,
    /// Its birth has come to its end.
    settled: bool,
    inodes: Vec<u64>,
}

impl Registration {
    /// Before the fork.
    pub(super) fn begin() -> Self {
        let prefix = prefix();
        let mut registry = registry();
        registry.begun += 1;
        let marker = format!("{prefix}{}", registry.begun);
        registry.living.insert(marker.clone(), None);
        Self { marker, settled: false, inodes: Vec::new() }
    }

    /// What the worker gets as [`MARKER`].
    pub(super) fn marker(&self) -> &str {
        &self.marker
    }

    /// A pipe or socket of the worker's.
    pub(super) fn add_inode(&mut self, inode: u64) {
        self.inodes.push(inode);
    }

    /// It has been born.
    pub(super) fn born(&mut self, pid: u32) {
        let mut registry = registry();
        registry.living.insert(self.marker.clone(), Some(pid));
        registry.ended += 1;
        self.settled = true;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut registry = registry();
        if !self.settled {
            registry.ended += 1;
        }
        registry.living.remove(&self.marker);
        registry.remains.extend(self.inodes.drain(..));
        let surplus = registry.remains.len().saturating_sub(REMAINS_MAX);
        registry.remains.drain(..surplus);
    }
}
