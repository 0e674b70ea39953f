//! The worker processes as an operator sees them: through the metrics and `/proc`. Signals for them.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::server::Server;
use crate::wait;

/// One living worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The instance's name, such as `echo_0_1`.
    pub instance: String,
    /// The model's name.
    pub model: String,
    /// Its process.
    pub pid: Pid,
    /// Which life of the instance this is, from 1.
    pub generation: u64,
}

impl Worker {
    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid, signal).expect("the worker is there");
    }
}

/// The workers of a model that are up, by instance.
pub fn workers(server: &Server, model: &str) -> Vec<Worker> {
    let metrics = server.metrics();
    let value = |family: &str, instance: &str| {
        samples(&metrics, family)
            .find(|sample| sample.label("instance") == Some(instance))
            .map(|sample| sample.value)
    };
    let mut found = Vec::new();
    for sample in samples(&metrics, "nereid_worker_up") {
        let instance = sample.label("instance").unwrap_or_default().to_owned();
        if sample.label("model") != Some(model) || sample.value == 0 {
            continue;
        }
        let (Some(pid), Some(generation)) =
            (value("nereid_worker_pid", &instance), value("nereid_worker_generation", &instance))
        else {
            continue;
        };
        let pid = Pid::from_raw(i32::try_from(pid).expect("a process id is an i32"));
        found.push(Worker { instance, model: model.to_owned(), pid, generation });
    }
    found.sort_by(|a, b| a.instance.cmp(&b.instance));
    found
}

/// Waits until this many workers of a model are up, and gives them.
pub fn await_workers(server: &Server, model: &str, count: usize) -> Vec<Worker> {
    wait::until_some(&format!("{count} workers of {model} are up"), || {
        let found = workers(server, model);
        (found.len() == count).then_some(found)
    })
}

/// Waits until an instance runs in this generation, and gives its worker.
pub fn await_generation(server: &Server, worker: &Worker, generation: u64) -> Worker {
    wait::until_some(&format!("{} is back in generation {generation}", worker.instance), || {
        let mut found = workers(server, &worker.model).into_iter();
        found.find(|new| new.instance == worker.instance && new.generation == generation)
    })
}

/// The value of a metric with these labels; `None` when there is no such line.
pub fn metric(server: &Server, family: &str, labels: &[(&str, &str)]) -> Option<u64> {
    let metrics = server.metrics();
    let fits = |sample: &Sample<'_>| labels.iter().all(|&(name, value)| sample.label(name) == Some(value));
    samples(&metrics, family).find(fits).map(|sample| sample.value)
}

/// The children of a process, from the kernel.
pub fn children(pid: Pid) -> Vec<Pid> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids = lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>());
    pids.map(Pid::from_raw).collect()
}

/// Whether a process runs: it exists and is no zombie.
pub fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    // The name before the state may hold anything, brackets too.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// One line of the metrics.
struct Sample<'a> {
    labels: &'a str,
    value: u64,
}

impl Sample<'_> {
    fn label(&self, name: &str) -> Option<&str> {
        let pairs = self.labels.split("\",");
        let mut values = pairs.filter_map(|pair| pair.split_once("=\""));
        values.find(|(found, _)| *found == name).map(|(_, value)| value.trim_end_matches('"'))
    }
}

fn samples<'a>(metrics: &'a str, family: &str) -> impl Iterator<Item = Sample<'a>> {
    metrics.lines().filter_map(move |line| {
        let rest = line.strip_prefix(family)?;
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => rest.rsplit_once("} ")?,
            None => ("", rest.strip_prefix(' ')?),
        };
        let value = value.split(' ').next()?.split('.').next()?.parse().ok()?;
        Some(Sample { labels, value })
    })
}
