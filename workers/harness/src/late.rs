//! What a worker does that was started before it was known what for, when it learns of its model: it goes where it would have
//! been started, and gives up writing elsewhere.
//!
//! The kernel confined it at its start, but to the folders of all models. Threads that exist already keep that; those that
//! the model will start do not.

use crate::end::End;
use nereid_ipc::sys::sandbox;
use nereid_proto::worker::Model;
use std::{env, path::PathBuf};

pub(crate) fn settle(model: &Model) -> Result<(), End> {
    let Model { working_directory, writable, .. } = model;
    if !working_directory.is_empty() {
        env::set_current_dir(working_directory)
            .map_err(|error| End::System(format!("unable to go to {working_directory}: {error}")))?;
    }
    if !writable.is_empty() {
        let writable: Vec<_> = writable.iter().map(PathBuf::from).collect();
        sandbox::write_only_to(&writable)
            .map_err(|error| End::System(format!("unable to give up writing elsewhere: {error}")))?;
    }
    Ok(())
}
