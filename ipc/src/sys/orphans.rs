//! What dead workers leave behind: processes that they started and that have left their group, and zombies.
//!
//! This process is made the *subreaper* of its descendants, so that an orphan becomes its child instead of getting away to
//! process 1. From then on two things are owed: killing what belongs to a dead worker, and reaping what has ended.
//!
//! A process belongs to a dead worker if it carries the marker of one (`sys::workers`). One that has thrown its marker
//! away belongs to a dead worker if it holds a pipe or socket of one, or if every living worker is younger than it is. A
//! process of a living worker is never touched, daemons of that worker included; nor is one that was there before.
//!
//! Deliberately not here: when to look. And no defence: a process that throws away its marker and its pipes while an older
//! worker lives stays until that one ends. Only a control group holds a process that does not want to be held.

use super::{
    processes::{self, Process},
    workers::{self, MARKER, Registry},
};
use nix::{
    errno::Errno,
    sys::{
        prctl,
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io, process,
    sync::OnceLock,
    time::Duration,
};

/// Looks after which a sweep gives up for now: something forks as fast as it is killed.
const ROUNDS_MAX: u32 = 16;
/// How long a sweep waits for one killed process to end. Some take longer, in a device driver for example.
const DEATH_WAIT: Duration = Duration::from_millis(50);

/// Children that were there before the first worker: a program that was replaced by this one has left them.
static INHERITED: OnceLock<BTreeSet<(u32, u64)>> = OnceLock::new();

/// Makes this process the one that orphans among its descendants fall to. Before the first worker.
pub fn become_subreaper() -> io::Result<()> {
    let own = process::id();
    let table = processes::all()?;
    let inherited = table.iter().filter(|(_, process)| process.parent == own);
    // A second call changes nothing.
    let _ = INHERITED.set(inherited.map(|(&pid, process)| (pid, process.started)).collect());
    Ok(prctl::set_child_subreaper(true)?)
}

/// What a look has brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes that were killed.
    pub killed: BTreeSet<u32>,
    /// Zombies that are gone now.
    pub reaped: usize,
    /// Look again soon: a worker was being born, or something does not end.
    pub unfinished: bool,
}

/// Kills what dead workers have left, and reaps what has ended. Takes some milliseconds, and longer if there is much.
pub fn sweep() -> io::Result<Swept> {
    let mut swept = Swept::default();
    for _ in 0..ROUNDS_MAX {
        let before = workers::now();
        let table = processes::all()?;
        let after = workers::now();
        let scene = Scene {
            own: process::id(),
            table: &table,
            inherited: INHERITED.get().cloned().unwrap_or_default(),
            workers: &after,
            // Between fork and exec a worker looks like any other child of ours.
            is_quiet: after.forks().is_some() && before.forks() == after.forks(),
        };
        swept.unfinished = !scene.is_quiet;
        swept.reaped += scene.zombies().into_iter().filter(|&pid| reap(pid)).count();
        let condemned = scene.condemned(&Evidence { remains: after.remains.iter().copied().collect() });
        if condemned.is_empty() {
            return Ok(swept);
        }
        for pid in condemned {
            // One that may not be signalled shall not keep the others alive.
            swept.unfinished |= !processes::kill(pid, table[&pid], DEATH_WAIT).unwrap_or(false);
            swept.killed.insert(pid);
        }
    }
    swept.unfinished = true;
    Ok(swept)
}

fn reap(pid: u32) -> bool {
    let Ok(raw) = i32::try_from(pid) else { return false };
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
    loop {
        match waitid(Id::Pid(Pid::from_raw(raw)), flags) {
            Err(Errno::EINTR) => {}
            status => return status.is_ok_and(|status| status.pid().is_some()),
        }
    }
}

/// How a process is looked at more closely.
trait Look {
    fn marker(&self, pid: u32) -> Option<String>;
    fn holds_remains(&self, pid: u32) -> bool;
}

struct Evidence {
    remains: Vec<u64>,
}

impl Look for Evidence {
    fn marker(&self, pid: u32) -> Option<String> {
        let marker = processes::variable(pid, MARKER).ok()??;
        String::from_utf8(marker).ok()
    }

    fn holds_remains(&self, pid: u32) -> bool {
        processes::holds(pid, &self.remains).unwrap_or(false)
    }
}

/// All that the choice is made from.
struct Scene<'a> {
    own: u32,
    table: &'a BTreeMap<u32, Process>,
    inherited: BTreeSet<(u32, u64)>,
    workers: &'a Registry,
    /// No worker was born meanwhile.
    is_quiet: bool,
}

impl Scene<'_> {
    /// Children that have ended and that nobody else waits for.
    fn zombies(&self) -> Vec<u32> {
        let ended = self.table.iter().filter(|(_, process)| process.parent == self.own && process.is_zombie);
        let ended = ended.map(|(&pid, _)| pid);
        // A program that cannot be executed ends as a child of ours, and its end is waited for.
        ended.filter(|&pid| self.is_quiet && !self.is_worker(pid)).collect()
    }

    /// Those that belong to a dead worker.
    fn condemned(&self, look: &impl Look) -> Vec<u32> {
        let ours = self.table.iter().filter(|&(&pid, process)| !process.is_zombie && self.may_be_left(pid));
        let condemned = ours.filter(|&(&pid, process)| match look.marker(pid) {
            Some(marker) if marker.starts_with(workers::prefix()) => !self.is_alive(&marker),
            _ => self.is_left_without_marker(pid, process, look),
        });
        condemned.map(|(&pid, _)| pid).collect()
    }

    fn is_left_without_marker(&self, pid: u32, process: &Process, look: &impl Look) -> bool {
        if !self.is_quiet || process.parent != self.own {
            return false;
        }
        let mut living = self.workers.living.iter().filter(|(marker, _)| self.is_alive(marker));
        let older = |pid: &Option<u32>| {
            let worker = pid.and_then(|pid| self.table.get(&pid));
            worker.is_some_and(|worker| worker.started <= process.started)
        };
        !living.any(|(_, pid)| older(pid)) || look.holds_remains(pid)
    }

    fn is_worker(&self, pid: u32) -> bool {
        self.workers.living.values().any(|&worker| worker == Some(pid))
    }

    /// A worker that is being born is alive; one that has ended is not, whether its end was taken note of or not.
    fn is_alive(&self, marker: &str) -> bool {
        match self.workers.living.get(marker) {
            None => false,
            Some(None) => true,
            Some(Some(pid)) => self.table.get(pid).is_some_and(|worker| !worker.is_zombie),
        }
    }

    /// A descendant of ours that is neither a worker nor below one, nor below what was there before.
    fn may_be_left(&self, pid: u32) -> bool {
        let mut current = pid;
        for _ in 0..self.table.len() {
            let Some(process) = self.table.get(&current) else { return false };
            if self.is_worker(current) || self.inherited.contains(&(current, process.started)) {
                return false;
            }
            if process.parent == self.own {
                return true;
            }
            current = process.parent;
        }
        false
    }
}

#[cfg(test)]
mod tests;
