//! Whole worlds by the seed: a scheduler, a version and its instances, with workers that are slow, die, hang and lie.
//!
//! Each seed makes a world: its configuration, its load and the character of its workers. The oracle watches every
//! action and knows nothing of how the machines decide. A failure prints the seed and the end of the trace; the same
//! seed gives the same world again. `NEREID_SIM_SEEDS` sets how many worlds there are, `NEREID_SIM_FIRST` the first one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sim::oracle::Summary;
use sim::world::World;

mod sim {
    pub(crate) mod clock;
    pub(crate) mod load;
    pub(crate) mod oracle;
    pub(crate) mod worker;
    pub(crate) mod world;
}

/// Worlds of an ordinary test run.
const SEEDS: u64 = 300;
/// Lines of the trace that a failure shows.
const TRACE_LINES: usize = 120;

#[expect(clippy::disallowed_methods, reason = "the test is told how much to do; the core is not")]
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Runs a world; if it fails, runs it again with a trace and shows that.
fn run(seed: u64) -> Summary {
    let attempt = |traced| {
        let mut world = World::new(seed, traced);
        let outcome = catch_unwind(AssertUnwindSafe(|| world.run()))
            .unwrap_or_else(|_| Err("a machine panicked, see above".to_owned()));
        (outcome, world)
    };
    match attempt(false) {
        (Ok(summary), _) => summary,
        (Err(_), _) => {
            let (outcome, world) = attempt(true);
            let trace = world.trace();
            let end = trace.len().saturating_sub(TRACE_LINES);
            panic!(
                "world {seed} failed: {}\n{}\n{}",
                outcome.err().unwrap_or_else(|| "only without a trace".to_owned()),
                world.describe(),
                trace[end..].join("\n")
            );
        }
    }
}

#[test]
fn every_ticket_ends_exactly_once_in_every_world() {
    let first = setting("NEREID_SIM_FIRST", 0);
    let seeds = setting("NEREID_SIM_SEEDS", SEEDS);
    let mut total = Summary::default();
    for seed in first..first + seeds {
        total.add(&run(seed));
    }
    println!("{seeds} worlds: {total:?}");
    if seeds >= SEEDS {
        total.assert_everything_happened();
    }
}

#[test]
fn the_same_seed_makes_the_same_world() {
    for seed in 0..5 {
        let trace = || {
            let mut world = World::new(seed, true);
            world.run().expect("the world is sound");
            world.trace().to_vec()
        };
        assert_eq!(trace(), trace(), "world {seed}");
    }
}
