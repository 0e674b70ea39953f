//! The outputs in a worker's memory: checked, then left in place, copied at once, or copied on another thread.
//!
//! Large outputs are read in place: the body that goes to the network is a slice of the worker's output memory, given
//! back when the network has taken it. Small ones are copied out at once, which is cheaper than keeping account of their
//! place. Once slow clients pin half of an instance's output memory, large ones are copied out too, so that the worker
//! always finds room for its next outputs; those copies count as bytes in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use nereid_core::error::ServeError;
use nereid_ipc::arena::OutputView;
use nereid_proto::worker::Response;

use super::admission::InflightBytes;
use super::request::{InferResponse, OutputTensor};
use crate::fleet::connection::{Connection, Returns};

/// Up to this size an output is copied out at once.
const COPY_OUT_BYTES_MAX: u64 = 16 * 1024;

/// An output slot, given back to the worker when the last tensor in it is done with.
#[derive(Debug)]
struct SlotGuard {
    slot: u64,
    pinned: AtomicU64,
    returns: Arc<Returns>,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.returns.push(self.slot);
        self.returns.unpin(*self.pinned.get_mut());
    }
}

/// The slots that the answers of one packet lie in. One allocation of the worker's may hold rows of several requests.
#[derive(Debug, Default)]
pub(super) struct Slots(Vec<Arc<SlotGuard>>);

impl Slots {
    fn guard(&mut self, slot: u64, returns: &Arc<Returns>) -> Arc<SlotGuard> {
        if let Some(guard) = self.0.iter().find(|guard| guard.slot == slot) {
            return Arc::clone(guard);
        }
        let guard = Arc::new(SlotGuard { slot, pinned: AtomicU64::new(0), returns: Arc::clone(returns) });
        self.0.push(Arc::clone(&guard));
        guard
    }
}

/// What a response brought.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub(super) tensors: Vec<OutputTensor>,
    /// Tensors whose bytes are still to be copied.
    pub(super) copies: Vec<Copying>,
}

/// A large output that may not stay in place.
#[derive(Debug)]
pub struct Copying {
    /// Its index among the outputs of the response.
    output: usize,
    view: OutputView,
    _slot: Arc<SlotGuard>,
    share: InflightBytes,
}

/// An output that was copied out and counts as bytes in flight until the network has taken it.
struct Copied {
    bytes: Vec<u8>,
    _share: InflightBytes,
}

impl AsRef<[u8]> for Copied {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Checks all outputs of a response and reads those that are `wanted`, all when nothing is named. The outer error: the
/// worker broke the protocol. The inner one: there is no room for the reply.
pub(super) fn read(
    connection: &Connection,
    response: &mut Response,
    slots: &mut Slots,
    wanted: &[String],
    share: &InflightBytes,
) -> Result<Result<Outputs, ServeError>, String> {
    let mut outputs = Outputs::default();
    let mut refused = None;
    for tensor in std::mem::take(&mut response.outputs) {
        let view = connection
            .outputs()
            .take(tensor)
            .map_err(|error| format!("described an output wrongly: {error}"))?;
        let slot = slots.guard(view.slot, connection.returns());
        if !wanted.is_empty() && !wanted.contains(&view.name) {
            continue;
        }
        if let Err(error) = outputs.add(connection, view, slot, share) {
            refused = Some(error);
        }
    }
    Ok(refused.map_or(Ok(outputs), Err))
}

impl Outputs {
    fn add(
        &mut self,
        connection: &Connection,
        mut view: OutputView,
        slot: Arc<SlotGuard>,
        share: &InflightBytes,
    ) -> Result<(), ServeError> {
        let length = view.len() as u64;
        let name = std::mem::take(&mut view.name);
        let shape = std::mem::take(&mut view.shape);
        let datatype = view.datatype.into();
        let data = if length <= COPY_OUT_BYTES_MAX {
            Bytes::from(view.copy())
        } else if connection.returns().pin(length, connection.pinned_max()) {
            slot.pinned.fetch_add(length, Ordering::Relaxed);
            view.into_bytes(slot)
        } else {
            let share = share.more(length)?;
            self.copies.push(Copying { output: self.tensors.len(), view, _slot: slot, share });
            Bytes::new()
        };
        self.tensors.push(OutputTensor { name, datatype, shape, data });
        Ok(())
    }
}

/// Copies what could not stay in place, on a thread for that.
pub(super) async fn copy(
    mut response: InferResponse,
    copies: Vec<Copying>,
) -> Result<InferResponse, ServeError> {
    let copied = tokio::task::spawn_blocking(move || {
        for Copying { output, view, share, .. } in copies {
            if let Some(tensor) = response.outputs.get_mut(output) {
                tensor.data = Bytes::from_owner(Copied { bytes: view.copy(), _share: share });
            }
        }
        response
    });
    copied.await.map_err(|error| ServeError::internal(format!("copying the outputs failed: {error}")))
}
