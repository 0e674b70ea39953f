//! What a worker may use of the machine's memory and processors, from its birth to its end.
//!
//! Where it has a control group the kernel sees to both. Elsewhere its memory is looked at ten times a second, as long as
//! there is a limit: a worker that takes much at once may go beyond it by what fits into that time, and one that gives it
//! back as fast is not noticed. Deliberately not here: when a worker is started, and what follows its end.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nereid_core::error::ServeError;
use nereid_core::lifecycle::ExitCause;
use nereid_ipc::sys::{memory_use, priority, processes};
use nereid_proto::inference::ModelConfig;
use nix::sys::signal::Signal;
use tokio::task::JoinHandle;

use super::cgroup::{Group, WEIGHT_LOADING, WEIGHT_READY};

/// The parameter with a model's own limit.
const LIMIT_PARAMETER: &str = "memory_limit_bytes";
/// Between two looks at a worker's memory.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// Niceness, and level of input and output, while a worker loads.
const LOADING: (i32, i32) = (10, 7);
/// What processes have by default.
const READY: (i32, i32) = (0, 4);

/// The bytes that a worker of this model may use; `None` for any.
pub(super) fn memory_limit(default: Option<u64>, config: &ModelConfig) -> Result<Option<u64>, ServeError> {
    let Some(value) = config.parameters.get(LIMIT_PARAMETER).map(|value| value.string_value.trim()) else {
        return Ok(default);
    };
    let bytes: u64 = value.parse().map_err(|_| {
        ServeError::invalid(format!(
            "parameter '{LIMIT_PARAMETER}' of model '{}' is '{value}', and has to be a number of bytes, or 0 for no limit",
            config.name
        ))
    })?;
    Ok(Some(bytes).filter(|&bytes| bytes > 0))
}

/// What one living worker has. Dropping it ends what is left of the worker's group.
#[derive(Debug)]
pub struct Resources {
    pid: u32,
    limit: Option<u64>,
    group: Option<Group>,
    /// What it used when it was killed for that.
    excess: Arc<OnceLock<u64>>,
    sampler: Option<JoinHandle<()>>,
    is_nice: bool,
}

impl Resources {
    /// For a worker that has just been born, into this group if it has one. From within the runtime.
    pub(super) fn begin(pid: u32, limit: Option<u64>, group: Option<Group>) -> Self {
        let excess = Arc::<OnceLock<u64>>::default();
        let is_kept = group.as_ref().is_some_and(Group::limits_memory);
        let sampler = limit.filter(|_| !is_kept).map(|limit| sampler(pid, limit, &excess));
        let is_light = group.as_ref().is_some_and(|group| group.set_weight(WEIGHT_LOADING));
        let is_nice =
            !is_light && priority::can_restore() && priority::set_group(pid, LOADING.0, LOADING.1).is_ok();
        Self { pid, limit, group, excess, sampler, is_nice }
    }

    /// A worker that was started ahead gets the limit of its model.
    pub(super) fn adopt(&mut self, limit: Option<u64>) -> io::Result<()> {
        let Some(limit) = limit else { return Ok(()) };
        self.limit = Some(limit);
        match &self.group {
            Some(group) if group.limits_memory() => group.limit_memory(limit),
            _ => {
                self.sampler = Some(sampler(self.pid, limit, &self.excess));
                Ok(())
            }
        }
    }

    /// The model is loaded: from here on its requests are waited for.
    pub(super) fn loaded(&mut self) {
        if let Some(group) = &self.group {
            group.set_weight(WEIGHT_READY);
        }
        if std::mem::take(&mut self.is_nice)
            && let Err(error) = priority::set_group(self.pid, READY.0, READY.1)
        {
            tracing::warn!(pid = self.pid, "unable to restore the priority of a worker: {error}");
        }
    }

    /// The worker has ended: why, if it was for its memory. What is left of its group ends, too.
    pub(super) fn verdict(&mut self, status: ExitStatus) -> Option<ExitCause> {
        let group = self.group.take();
        let by_kernel = group.as_ref().is_some_and(|group| group.killed_for_memory() > 0);
        drop(group);
        if status.signal() != Some(Signal::SIGKILL as i32) {
            return None;
        }
        match (self.limit, self.excess.get()) {
            (Some(limit), Some(used)) => Some(ExitCause::MemoryLimit(format!(
                "was killed by the supervisor because it used {used} bytes of memory, more than its limit of {limit} bytes"
            ))),
            (Some(limit), None) if by_kernel => Some(ExitCause::MemoryLimit(format!(
                "was killed by the kernel because it used more than its memory limit of {limit} bytes"
            ))),
            _ if by_kernel => Some(ExitCause::OutOfMemory),
            _ => None,
        }
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        if let Some(sampler) = self.sampler.take() {
            sampler.abort();
        }
    }
}

fn sampler(pid: u32, limit: u64, excess: &Arc<OnceLock<u64>>) -> JoinHandle<()> {
    let excess = Arc::clone(excess);
    tokio::spawn(async move { sample(pid, limit, &excess).await })
}

async fn sample(pid: u32, limit: u64, excess: &OnceLock<u64>) {
    let Ok(worker) = processes::one(pid) else { return };
    let mut ticks = tokio::time::interval(SAMPLE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Ok(used) = tokio::task::spawn_blocking(move || memory_use::of_tree(pid, limit)).await else {
            return;
        };
        match used {
            Ok(used) if used > limit => {
                let _ = excess.set(used);
                // The rest of the group goes with it, when its end is noticed.
                if let Err(error) = processes::kill(pid, worker, Duration::ZERO) {
                    tracing::error!(pid, "unable to kill a worker that uses too much memory: {error}");
                }
                return;
            }
            Ok(_) => {}
            // It has ended.
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests;
