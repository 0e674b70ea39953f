//! A folder of plain files in place of the kernel's tree: what is written there, and what is left alone.

use super::*;

const PID: u32 = 4711;

/// A group as the kernel would show it, in a folder that goes with the test.
struct Fake(PathBuf);

impl Fake {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nereid-cgroup-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let fake = Self(path);
        fake.group("");
        fake
    }

    /// The files that the kernel would make.
    fn group(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).expect("writable");
        for file in [
            "cgroup.procs",
            "cgroup.subtree_control",
            "cgroup.kill",
            "memory.max",
            "memory.oom.group",
            "cpu.weight",
        ] {
            fs::write(path.join(file), "").expect("writable");
        }
        fs::write(path.join("cgroup.events"), "populated 0\nfrozen 0\n").expect("writable");
        fs::write(path.join("cgroup.controllers"), "cpuset cpu io memory pids\n").expect("writable");
        path
    }

    fn set(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).expect("writable");
    }

    fn get(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    fn take_on(&self) -> Result<Arc<Groups>, String> {
        self.group(OWN);
        self.set("cgroup.procs", &format!("{PID}\n"));
        Groups::take_on(&self.0, PID).map(Arc::new)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_server_moves_into_a_leaf_and_hands_the_controllers_down() {
    let fake = Fake::new("leaf");
    let groups = fake.take_on().unwrap();
    assert_eq!(fake.get("supervisor/cgroup.procs"), PID.to_string());
    assert_eq!(groups.controllers(), ["cpu", "io", "memory"]);
    assert!(groups.limits_memory());
}

#[test]
fn a_worker_gets_a_group_with_its_limit_that_yields_until_it_is_ready() {
    let fake = Fake::new("worker");
    let groups = fake.take_on().unwrap();
    fake.group("worker-0");
    let group = groups.worker(Some(512 << 20)).unwrap();
    assert_eq!(fake.get("worker-0/memory.max"), (512_u64 << 20).to_string());
    assert_eq!(fake.get("worker-0/memory.oom.group"), "1");
    assert!(group.set_weight(WEIGHT_LOADING));
    assert_eq!(fake.get("worker-0/cpu.weight"), "20");
    fake.set("worker-0/cpu.weight", "");
    assert!(group.set_weight(WEIGHT_READY));
    assert_eq!(fake.get("worker-0/cpu.weight"), "100");
    assert!(group.entrance().is_ok());
    drop(group);
    assert_eq!(fake.get("worker-0/cgroup.kill"), "1");
    // The next one has another name, whatever has become of this one.
    fake.group("worker-1");
    drop(groups.worker(None).unwrap());
    assert_eq!(fake.get("worker-1/memory.max"), "");
}

#[test]
fn a_kill_for_memory_is_read_from_the_events() {
    let fake = Fake::new("events");
    let groups = fake.take_on().unwrap();
    fake.group("worker-0");
    let group = groups.worker(Some(1)).unwrap();
    assert_eq!(group.killed_for_memory(), 0);
    fake.set("worker-0/memory.events", "low 0\nhigh 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 1\n");
    assert_eq!(group.killed_for_memory(), 2);
}

#[test]
fn what_a_server_before_has_left_is_killed() {
    let fake = Fake::new("stale");
    fake.group("worker-7");
    fake.group("somebody-else");
    let _groups = fake.take_on().unwrap();
    assert_eq!(fake.get("worker-7/cgroup.kill"), "1");
    assert_eq!(fake.get("somebody-else/cgroup.kill"), "");
}

#[test]
fn without_the_memory_controller_there_is_a_group_and_no_limit() {
    let fake = Fake::new("poor");
    fake.set("cgroup.controllers", "hugetlb\n");
    let groups = fake.take_on().unwrap();
    assert!(groups.controllers().is_empty() && !groups.limits_memory());
    fake.group("worker-0");
    let group = groups.worker(Some(1)).unwrap();
    assert_eq!(fake.get("worker-0/memory.max"), "");
    assert!(!group.set_weight(WEIGHT_LOADING));
}

#[test]
fn the_root_of_the_machine_and_groups_with_others_are_left_alone() {
    let root = Fake::new("root");
    fs::remove_file(root.0.join("cgroup.events")).unwrap();
    let error = root.take_on().unwrap_err();
    assert!(error.contains("root group"), "{error}");

    let shared = Fake::new("shared");
    shared.group(OWN);
    shared.set("cgroup.procs", &format!("1\n{PID}\n"));
    let error = Groups::take_on(&shared.0, PID).unwrap_err();
    assert!(error.contains("other processes"), "{error}");
    assert_eq!(shared.get("supervisor/cgroup.procs"), "");
    assert_eq!(shared.get("cgroup.subtree_control"), "");
}

#[test]
fn a_leaf_that_systemd_has_made_is_used() {
    let fake = Fake::new("delegated");
    let own = fake.group(OWN);
    fs::write(own.join("cgroup.procs"), format!("{PID}\n")).unwrap();
    let groups = Groups::take_on(&own, PID).unwrap();
    assert_eq!(groups.root, fake.0);
    fake.set("cgroup.procs", "1\n");
    fs::write(own.join("cgroup.procs"), format!("{PID}\n")).unwrap();
    assert!(Groups::take_on(&own, PID).unwrap_err().contains("processes are in"));
}

#[test]
fn the_place_is_found_from_the_group_and_the_mount() {
    let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw\n\
                  40 30 0:35 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
    let own = "4:memory:/x\n0::/system.slice/nereid.service\n";
    let expected = Path::new("/sys/fs/cgroup/unified/system.slice/nereid.service");
    assert_eq!(place(own, mounts).unwrap(), expected);
    assert_eq!(place("0::/\n", mounts).unwrap(), Path::new("/sys/fs/cgroup/unified"));
    // Of a container, only a part of the tree is mounted.
    let part = "40 30 0:35 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
    assert_eq!(place("0::/docker/abc/x\n", part).unwrap(), Path::new("/sys/fs/cgroup/x"));
    for (own, mounts) in
        [("4:memory:/x\n", mounts), ("0::/\n", ""), ("0::/../x\n", mounts), ("0::/other\n", part)]
    {
        assert_eq!(place(own, mounts), None, "{own}");
    }
}
