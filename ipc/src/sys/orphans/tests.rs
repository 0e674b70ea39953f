use super::*;

const OWN: u32 = 10;

/// A world of few processes.
#[derive(Default)]
struct World {
    table: BTreeMap<u32, Process>,
    workers: Registry,
    markers: BTreeMap<u32, String>,
    holders: BTreeSet<u32>,
    inherited: BTreeSet<(u32, u64)>,
    is_noisy: bool,
}

impl Look for World {
    fn marker(&self, pid: u32) -> Option<String> {
        self.markers.get(&pid).cloned()
    }

    fn holds_remains(&self, pid: u32) -> bool {
        self.holders.contains(&pid)
    }
}

fn marker(number: u32) -> String {
    format!("{}{number}", workers::prefix())
}

impl World {
    fn new() -> Self {
        Self::default().with(1, 0, 0).with(OWN, 1, 5)
    }

    fn with(mut self, pid: u32, parent: u32, started: u64) -> Self {
        self.table.insert(pid, Process { parent, is_zombie: false, started });
        self
    }

    fn marked(mut self, pid: u32, worker: u32) -> Self {
        self.markers.insert(pid, marker(worker));
        self
    }

    /// A worker, whose marker is its own number.
    fn with_worker(mut self, pid: u32, started: u64) -> Self {
        self.workers.living.insert(marker(pid), Some(pid));
        self.with(pid, OWN, started).marked(pid, pid)
    }

    fn ended(mut self, pid: u32) -> Self {
        self.table.get_mut(&pid).expect("a process").is_zombie = true;
        self
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            own: OWN,
            table: &self.table,
            inherited: self.inherited.clone(),
            workers: &self.workers,
            is_quiet: !self.is_noisy,
        }
    }

    fn condemned(&self) -> Vec<u32> {
        self.scene().condemned(self)
    }
}

#[test]
fn what_carries_the_marker_of_a_dead_worker_goes_with_all_that_is_below_it() {
    let world = World::new().with(20, OWN, 7).marked(20, 99).with(21, 20, 8).marked(21, 99);
    assert_eq!(world.condemned(), [20, 21]);
}

#[test]
fn a_worker_that_was_not_reaped_yet_is_dead_already() {
    let world = World::new().with_worker(20, 6).ended(20).with(21, OWN, 7).marked(21, 20);
    assert_eq!(world.condemned(), [21]);
    assert!(world.scene().zombies().is_empty(), "its end is asked for elsewhere");
}

#[test]
fn what_belongs_to_a_living_worker_stays_daemons_included() {
    let world =
        World::new().with_worker(20, 6).with(21, 20, 7).marked(21, 20).with(22, OWN, 7).marked(22, 20);
    assert!(world.condemned().is_empty());
    // Even under a name that is not its own.
    assert!(world.marked(21, 99).condemned().is_empty());
}

#[test]
fn a_worker_that_is_being_born_is_alive() {
    let mut world = World::new().with(20, OWN, 7).marked(20, 20);
    world.workers.living.insert(marker(20), None);
    assert!(world.condemned().is_empty());
}

#[test]
fn processes_of_others_stay_whatever_they_carry() {
    let mut world =
        World::new().with(30, 1, 9).marked(30, 99).with(31, OWN, 3).marked(31, 99).with(32, 31, 9);
    world.inherited.insert((31, 3));
    world.markers.insert(32, "1.2.3".to_owned());
    assert!(world.condemned().is_empty());
}

#[test]
fn an_orphan_without_marker_goes_when_no_living_worker_can_have_made_it() {
    let world = World::new().with(20, OWN, 7);
    assert_eq!(world.condemned(), [20]);
    let world = world.with_worker(40, 8);
    assert_eq!(world.condemned(), [20]);
    let world = world.with_worker(41, 7);
    assert!(world.condemned().is_empty(), "41 may have made it");
}

#[test]
fn an_orphan_without_marker_is_known_by_what_it_holds() {
    let mut world = World::new().with_worker(40, 6).with(20, OWN, 7).with(21, OWN, 7);
    world.holders.insert(21);
    assert_eq!(world.condemned(), [21]);
}

#[test]
fn a_child_below_an_orphan_without_marker_waits_until_it_is_one_itself() {
    let world = World::new().with(20, OWN, 7).with(21, 20, 8);
    assert_eq!(world.condemned(), [20]);
}

#[test]
fn while_workers_are_born_only_markers_count_and_nothing_is_reaped() {
    let mut world = World::new().with(20, OWN, 7).with(21, OWN, 7).marked(21, 99).with(22, OWN, 7).ended(22);
    world.is_noisy = true;
    assert_eq!(world.condemned(), [21]);
    assert!(world.scene().zombies().is_empty());
    world.is_noisy = false;
    assert_eq!(world.scene().zombies(), [22]);
}

#[test]
fn a_circle_of_parents_ends_the_search() {
    let world = World::new().with(20, 21, 7).with(21, 20, 7).marked(20, 99);
    assert!(world.condemned().is_empty());
}
