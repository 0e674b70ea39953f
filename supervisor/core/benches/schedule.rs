//! What a decision costs: nanoseconds for each request, by how many others wait.
//!
//! `cargo bench -p nereid-core`. Plain loops and no statistics: the numbers are to be compared with a microsecond, not
//! with one another's third digit. The aim: well under 1 µs for enqueue, run and finish together, at depth 1 as at depth
//! 10,000.

use std::hint::black_box;
use std::time::Instant as Clock;

use nereid_core::ids::{BatchId, InstanceId, Ticket};
use nereid_core::machine::Machine;
use nereid_core::schedule::{
    Action, BatchPolicy, Event, LevelPolicy, QueuedRequest, Scheduler, SchedulerConfig,
};
use nereid_core::time::{Duration, Instant};

const INSTANCE: InstanceId = InstanceId(0);
const DEPTHS: [u64; 3] = [1, 100, 10_000];
const REQUESTS: u64 = 400_000;
/// The best of so many runs: what the machine can do when nothing else runs on it.
const RUNS: u32 = 5;

/// A scheduler with one busy instance and a queue.
struct Loaded {
    scheduler: Scheduler,
    batch: BatchId,
    next_ticket: u64,
    timeout: Option<Duration>,
}

impl Loaded {
    fn new(config: SchedulerConfig, depth: u64, timeout: Option<Duration>) -> Self {
        let mut loaded =
            Self { scheduler: Scheduler::new(config), batch: BatchId(0), next_ticket: 0, timeout };
        loaded.on(Event::InstanceUp { instance: INSTANCE, slots: 1 });
        for _ in 0..=depth {
            loaded.enqueue();
        }
        loaded
    }

    fn on(&mut self, event: Event) {
        self.scheduler.handle(Instant::from_nanos(self.next_ticket), event);
        while let Some(action) = self.scheduler.poll() {
            if let Action::Run { batch, .. } = &action {
                self.batch = *batch;
            }
            black_box(action);
        }
        black_box(self.scheduler.next_deadline());
    }

    fn enqueue(&mut self) {
        self.next_ticket += 1;
        self.on(Event::Enqueue(QueuedRequest {
            ticket: Ticket(self.next_ticket),
            batch_size: 1,
            shape_key: 0,
            priority: 0,
            timeout: self.timeout,
        }));
    }

    fn finish(&mut self) {
        self.on(Event::Finished { instance: INSTANCE, batch: self.batch });
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time; the core is told it")]
#[expect(clippy::print_stdout, reason = "its result")]
fn measure(name: &str, depth: u64, mut make: impl FnMut() -> Loaded, step: impl Fn(&mut Loaded) -> u64) {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let mut loaded = make();
        let mut requests = 0_u32;
        let start = Clock::now();
        while u64::from(requests) < REQUESTS {
            requests += u32::try_from(step(&mut loaded)).unwrap_or(u32::MAX);
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(requests));
    }
    println!("{name:<44} depth {depth:>6}: {best:>7.0} ns a request");
}

fn main() {
    let level = LevelPolicy { allow_timeout_override: true, ..LevelPolicy::default() };
    let direct = || SchedulerConfig::direct(level);
    let dynamic = |delay| SchedulerConfig::dynamic(BatchPolicy::new(8, [], delay), level);
    for depth in DEPTHS {
        let one = |loaded: &mut Loaded| {
            loaded.enqueue();
            loaded.finish();
            1
        };
        let eight = |loaded: &mut Loaded| {
            (0..8).for_each(|_| loaded.enqueue());
            loaded.finish();
            8
        };
        measure("direct: enqueue, run, finish", depth, || Loaded::new(direct(), depth, None), one);
        let timeout = Some(Duration::from_secs(60));
        measure("direct, with a time-out", depth, || Loaded::new(direct(), depth, timeout), one);
        measure("batches of up to 8", depth, || Loaded::new(dynamic(Duration::ZERO), depth, None), eight);
        let delay = Duration::from_micros(100);
        measure("batches of up to 8, held back", depth, || Loaded::new(dynamic(delay), depth, None), eight);
        measure(
            "enqueue, cancel in the middle",
            depth,
            || Loaded::new(direct(), depth, None),
            |loaded| {
                loaded.enqueue();
                let middle = loaded.next_ticket - depth / 2;
                loaded.on(Event::Cancel(Ticket(middle)));
                1
            },
        );
    }
}
