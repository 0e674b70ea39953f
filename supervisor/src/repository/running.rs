//! The versions that were begun and not ended: what there is to unload when the server stops, also in the middle of its
//! start.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use nereid_core::error::ServeError;
use tokio::sync::oneshot;

use crate::fleet::version::Handle;

/// Tells how a load ended.
pub type Outcome = oneshot::Receiver<Result<(), ServeError>>;

/// See the module's text.
#[derive(Debug)]
pub struct Running(Mutex<Option<BTreeMap<(String, i64), Handle>>>);

impl Default for Running {
    fn default() -> Self {
        Self(Mutex::new(Some(BTreeMap::new())))
    }
}

impl Running {
    /// Begins a version, unless the server is stopping.
    pub fn begin(
        &self,
        model: &str,
        version: i64,
        load: impl FnOnce() -> Result<(Handle, Outcome), ServeError>,
    ) -> Result<Outcome, ServeError> {
        // Held meanwhile, so that none begins behind the back of `take`.
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = running.as_mut() else {
            return Err(ServeError::unavailable("the server is stopping"));
        };
        let (handle, outcome) = load()?;
        running.insert((model.to_owned(), version), handle);
        Ok(outcome)
    }

    /// A version ended by itself: it could not be loaded.
    pub fn forget(&self, model: &str, version: i64) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.as_mut() {
            running.remove(&(model.to_owned(), version));
        }
    }

    /// Takes all out, for good: none begins any more.
    pub fn take(&self) -> Vec<Handle> {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        running.unwrap_or_default().into_values().collect()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, BTreeMap::len)
    }
}
