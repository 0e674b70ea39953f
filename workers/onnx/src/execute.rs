//! A batch of requests as one run of the session.
//!
//! Inputs are read where the supervisor has put them. Outputs whose shape is known beforehand (`crate::plan`) are
//! written by the session itself to where the supervisor reads them; only what the session has to allocate is copied.
//! When the shape that a model declares proves wrong, the run is made once more without such memory and the output is
//! never foreseen again.
//!
//! Deliberately not here: scheduling. The requests that come together are run together, unless the model has no batch
//! dimension: then one after the other.

mod inputs;
mod made;
mod outputs;
#[cfg(test)]
mod tests;

use crate::{
    error::runtime_error,
    ffi::{
        OrtError,
        options::RunOptions,
        run::{Call, Scratch},
        session::Session,
    },
    plan::Plan,
};
use inputs::Feed;
use nereid_worker::{Batch, Request, WorkerError};
use outputs::{Copied, Target};

/// A loaded model.
#[derive(Debug)]
pub(crate) struct Executor {
    session: Session,
    plan: Plan,
    options: RunOptions,
    scratch: Scratch,
}

/// Requests that are run as one, and the place of the first in the batch.
#[derive(Debug, Clone, Copy)]
struct Group<'b> {
    requests: &'b [Request],
    first: usize,
    /// Rows of all, for models with a batch dimension.
    rows: i64,
}

impl Executor {
    pub(crate) fn new(session: Session, plan: Plan, options: RunOptions) -> Self {
        Self { session, plan, options, scratch: Scratch::default() }
    }

    /// Answers every request of the batch.
    pub(crate) fn execute(&mut self, batch: &mut Batch<'_>) {
        let requests = batch.requests();
        if self.plan.batched {
            let rows = requests.iter().map(Request::rows).fold(0, i64::saturating_add);
            self.execute_group(batch, Group { requests, first: 0, rows });
        } else {
            for first in 0..requests.len() {
                self.execute_group(batch, Group { requests: &requests[first..=first], first, rows: 1 });
            }
        }
    }

    fn execute_group(&mut self, batch: &mut Batch<'_>, group: Group<'_>) {
        if let Err(error) = self.run(batch, group) {
            for index in 0..group.requests.len() {
                batch.respond_error(group.first + index, error.clone());
            }
        }
    }

    fn run(&mut self, batch: &mut Batch<'_>, group: Group<'_>) -> Result<(), WorkerError> {
        let feeds = inputs::gather(&self.plan, batch, group)?;
        let mut targets = outputs::prepare(&self.plan, batch, group, &feeds)?;
        batch.mark_input_done();
        if targets.is_empty() {
            return (0..group.requests.len()).try_for_each(|index| batch.complete(group.first + index));
        }
        let (copied, foreseen) = {
            let mut call = Call::new(&self.session, &mut self.scratch);
            prepare_call(&mut call, &feeds, &mut targets).map_err(runtime_error)?;
            let foreseen = run_or_repeat(&mut call, &self.options).map_err(runtime_error)?;
            batch.mark_infer_done();
            (outputs::copy(&self.plan, batch, &call)?, foreseen)
        };
        if !foreseen {
            forget_wrong_sizes(&mut self.plan, &targets, &copied);
        }
        outputs::deliver(&self.plan, batch, group, targets, copied)
    }
}

fn prepare_call<'m>(
    call: &mut Call<'m>,
    feeds: &'m [Feed<'_>],
    targets: &'m mut [Target],
) -> Result<(), OrtError> {
    for feed in feeds {
        feed.pass(call)?;
    }
    for target in targets {
        match &mut target.buffer {
            Some(buffer) => call.output_into(target.place, buffer.as_mut_slice(), &target.shape)?,
            None => call.output(target.place),
        }
    }
    Ok(())
}

/// Runs the session; once more, without memory for outputs, if it fails with it. Tells whether the first run counts.
///
/// The error of a wrong size is not told from others by its words, which change among releases: a request that fails
/// for another reason fails again, and its second error is the one to report.
fn run_or_repeat(call: &mut Call<'_>, options: &RunOptions) -> Result<bool, OrtError> {
    match call.run(options) {
        Ok(()) => Ok(true),
        Err(_) if call.gave_output_memory() => {
            call.withdraw_output_memory();
            call.run(options).map(|()| false)
        }
        Err(error) => Err(error),
    }
}

/// After a run that succeeded only without memory for outputs: which sizes were wrong. If none was, the reason is
/// something else about such memory, and no output of this run gets any again.
fn forget_wrong_sizes(plan: &mut Plan, targets: &[Target], copied: &[Option<Copied>]) {
    let is_wrong = |target: &Target, copied: &Option<Copied>| {
        target.buffer.is_some() && copied.as_ref().is_some_and(|copied| copied.shape != target.shape)
    };
    let any = targets.iter().zip(copied).any(|(target, copied)| is_wrong(target, copied));
    for (target, copied) in targets.iter().zip(copied) {
        if (is_wrong(target, copied) || !any)
            && let Some(output) = &mut plan.outputs[target.place]
        {
            output.sizes = None;
        }
    }
}
