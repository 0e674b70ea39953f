//! A control group (version 2) for each worker, where the server has been given a part of the tree.
//!
//! The server's own group becomes `supervisor/` and `worker-…/` below it. A worker's group bounds its memory, gives way
//! while it loads, tells when the kernel has ended it for its memory, and holds whatever it starts: killing the group misses
//! nothing. Without such a part of the tree the server does without, and says so.
//!
//! A group is only taken on if nobody else is in it and it is not the root of the machine: others' groups stay as they are.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The server's own place. systemd makes it with `DelegateSubgroup=supervisor`.
const OWN: &str = "supervisor";
/// What the names of workers' groups begin with.
const WORKER: &str = "worker-";
/// Controllers that are of use.
const WANTED: &[&str] = &["memory", "cpu", "io"];
/// Looks at a group that has been killed, before it is left for later.
const EMPTY_LOOKS_MAX: u32 = 100;

/// What a loading worker gets of a busy processor, of 100 that others get.
pub const WEIGHT_LOADING: u32 = 20;
/// The kernel's default.
pub const WEIGHT_READY: u32 = 100;

/// The server's part of the tree.
#[derive(Debug)]
pub struct Groups {
    root: PathBuf,
    controllers: Vec<String>,
    counter: AtomicU64,
    /// Groups that still had processes when they were to be removed.
    left: Mutex<Vec<PathBuf>>,
}

impl Groups {
    /// Takes on the group that this process is in. The error says why it cannot, in words that follow "cgroup v2: ".
    pub fn open() -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("not there ({error})"))?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let place = place(&own, &mounts).ok_or("not mounted")?;
        Self::take_on(&place, std::process::id())
    }

    fn take_on(place: &Path, pid: u32) -> Result<Self, String> {
        let delegated = place.file_name().is_some_and(|name| name == OWN);
        let root = if delegated { place.parent().unwrap_or(place) } else { place };
        // The root of the tree has no such file: it belongs to the machine.
        if !root.join("cgroup.events").exists() {
            return Err("not delegated: the server is in the root group".to_owned());
        }
        let members = members(place).map_err(|error| format!("not delegated: {error}"))?;
        if members.iter().any(|&member| member != pid) {
            return Err(format!(
                "not delegated: other processes are in the server's group {}",
                place.display()
            ));
        }
        if delegated && members_exist(root) {
            return Err(format!("not delegated: processes are in {}", root.display()));
        }
        let own = root.join(OWN);
        let moved = make(&own).and_then(|()| write(&own, "cgroup.procs", &pid.to_string()));
        moved.map_err(|error| format!("not delegated: {error}"))?;
        let groups = Self {
            root: root.to_owned(),
            controllers: enable(root),
            counter: AtomicU64::new(0),
            left: Mutex::default(),
        };
        groups.clear();
        Ok(groups)
    }

    /// The controllers that workers' groups have.
    #[must_use]
    pub fn controllers(&self) -> &[String] {
        &self.controllers
    }

    /// Whether the kernel keeps workers to a limit of memory.
    #[must_use]
    pub fn limits_memory(&self) -> bool {
        self.has("memory")
    }

    fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|found| found == controller)
    }

    /// Removes what a server before this one has left, with all that runs in it.
    fn clear(&self) {
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(WORKER) {
                tracing::warn!("killing what is left in {}", entry.path().display());
                end(&entry.path());
                self.remove(entry.path());
            }
        }
    }

    /// A group for one worker.
    pub fn worker(self: &Arc<Self>, memory_limit: Option<u64>) -> io::Result<Group> {
        self.remove_left();
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join(format!("{WORKER}{number}"));
        make(&path)?;
        let group = Group { groups: Arc::clone(self), path };
        if self.limits_memory() {
            // One process of a worker without the others is of no use to anybody.
            write(&group.path, "memory.oom.group", "1")?;
            if let Some(limit) = memory_limit {
                group.limit_memory(limit)?;
            }
        }
        Ok(group)
    }

    fn remove(&self, path: PathBuf) {
        if fs::remove_dir(&path).is_err() && path.exists() {
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        }
    }

    fn remove_left(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|path| fs::remove_dir(path).is_err() && path.exists());
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for path in self.left.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // Its last process may be on its way out. What stays is removed by the next server.
            for _ in 0..EMPTY_LOOKS_MAX {
                if !is_populated(path) {
                    break;
                }
                std::thread::yield_now();
            }
            let _ = fs::remove_dir(path);
        }
    }
}

/// The group of one worker. Dropping it ends everything in it and removes it, now or later.
#[derive(Debug)]
pub struct Group {
    groups: Arc<Groups>,
    path: PathBuf,
}

impl Group {
    /// Where a process writes "0" to become a member.
    pub fn entrance(&self) -> io::Result<OwnedFd> {
        Ok(fs::OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))?.into())
    }

    /// Whether the kernel keeps it to its limit.
    #[must_use]
    pub fn limits_memory(&self) -> bool {
        self.groups.limits_memory()
    }

    /// Sets the limit of its memory.
    pub fn limit_memory(&self, limit: u64) -> io::Result<()> {
        write(&self.path, "memory.max", &limit.to_string())?;
        // Otherwise it would be pushed out to a disk instead; without swap there is no such file.
        let _ = write(&self.path, "memory.swap.max", "0");
        Ok(())
    }

    /// What it gets of a busy processor. False where the kernel was not asked to share it.
    pub fn set_weight(&self, weight: u32) -> bool {
        self.groups.has("cpu") && write(&self.path, "cpu.weight", &weight.to_string()).is_ok()
    }

    /// Processes of it that the kernel has ended for its memory.
    #[must_use]
    pub fn killed_for_memory(&self) -> u64 {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        end(&self.path);
        self.groups.remove(std::mem::take(&mut self.path));
    }
}

/// Where the group of a process lies: from the line `0::/path` and the place where the tree is mounted.
fn place(own: &str, mounts: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // A group above the part of the tree that this process can see.
    if path.starts_with("..") {
        return None;
    }
    let (root, point) = mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let found = (fields.next()?, fields.next()?);
        kind.starts_with("cgroup2 ").then_some(found)
    })?;
    let below = Path::new("/").join(path);
    let below = below.strip_prefix(root).ok()?;
    Some(Path::new(point).join(below))
}

fn members(group: &Path) -> io::Result<Vec<u32>> {
    let members = fs::read_to_string(group.join("cgroup.procs"))?;
    Ok(members.lines().filter_map(|pid| pid.parse().ok()).collect())
}

fn members_exist(group: &Path) -> bool {
    members(group).is_ok_and(|members| !members.is_empty())
}

/// Hands controllers down, as far as this machine has them: which of them.
fn enable(root: &Path) -> Vec<String> {
    let offered = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
    let offered = offered.split_whitespace().filter(|controller| WANTED.contains(controller));
    let enabled =
        offered.filter(|controller| write(root, "cgroup.subtree_control", &format!("+{controller}")).is_ok());
    enabled.map(str::to_owned).collect()
}

fn end(group: &Path) {
    // Since Linux 5.14.
    if write(group, "cgroup.kill", "1").is_err() {
        tracing::debug!("{} has no cgroup.kill", group.display());
    }
}

fn is_populated(group: &Path) -> bool {
    let events = fs::read_to_string(group.join("cgroup.events")).unwrap_or_default();
    events.lines().any(|line| line == "populated 1")
}

fn make(group: &Path) -> io::Result<()> {
    match fs::create_dir(group) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", group.display()))),
    }
}

fn write(group: &Path, file: &str, text: &str) -> io::Result<()> {
    let path = group.join(file);
    let written = fs::OpenOptions::new().write(true).open(&path).and_then(|mut file| {
        use io::Write;
        file.write_all(text.as_bytes())
    });
    written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests;
