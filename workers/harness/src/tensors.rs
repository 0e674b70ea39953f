//! The tensors of one request: inputs in place, and output memory that is on its way to the supervisor.

use crate::{end::End, error::WorkerError, memory::Memory};
use nereid_ipc::{
    DataType,
    arena::{InputView, OutputLease},
    datatype,
};
use nereid_proto::worker::Tensor;

/// One input of one request. Its bytes lie in shared memory, where the supervisor has put them.
#[derive(Debug)]
pub struct InputTensor {
    name: String,
    shape: Vec<i64>,
    view: InputView,
}

impl InputTensor {
    pub(crate) fn new(tensor: Tensor, memory: &Memory) -> Result<Self, End> {
        let view = memory.view(&tensor)?;
        Ok(Self { name: tensor.name, shape: tensor.shape, view })
    }

    /// The input's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The element type.
    #[must_use]
    pub fn datatype(&self) -> DataType {
        self.view.datatype()
    }

    /// The shape, with the batch dimension where the model has one.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// How many elements the shape has.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.view.elements()
    }

    /// The bytes, without a copy. As many as type and shape say; those of a BYTES tensor are still to be parsed.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.view.as_slice()
    }

    /// The memory itself, for frameworks that want a pointer or may write to their inputs; see [`InputView::ptr`]. A
    /// clone keeps it mapped, also beyond the batch, but then its bytes belong to the next request.
    #[must_use]
    pub fn view(&self) -> &InputView {
        &self.view
    }
}

/// Output memory that is not yet part of an answer. Dropped, it returns to the arena.
#[derive(Debug)]
pub struct OutputBuffer(OutputLease);

impl OutputBuffer {
    pub(crate) fn new(lease: OutputLease) -> Self {
        Self(lease)
    }

    /// The bytes, to be written; they begin with whatever was there before. The place stays the same until the buffer
    /// is attached, so a framework may be given a pointer to it.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.0.as_mut_slice()
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    pub(crate) fn slot(&self) -> u64 {
        self.0.slot()
    }

    pub(crate) fn commit(self) -> u64 {
        self.0.commit()
    }

    /// Says that the tensor lies in this buffer, `skip` bytes from its begin.
    pub(crate) fn describe(&self, label: Label<'_>, skip: u64, length: u64) -> Tensor {
        Tensor {
            name: label.name.to_owned(),
            data_type: label.datatype.number(),
            shape: label.shape.to_vec(),
            segment: self.0.segment(),
            offset: self.0.offset() + skip,
            length,
            slot: self.0.slot(),
        }
    }
}

/// What an output is, apart from its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label<'a> {
    pub(crate) name: &'a str,
    pub(crate) datatype: DataType,
    pub(crate) shape: &'a [i64],
}

impl Label<'_> {
    /// The bytes that the tensor takes, if its type and shape tell.
    pub(crate) fn byte_len(&self) -> Result<Option<u64>, WorkerError> {
        datatype::byte_len(self.datatype, self.shape).map_err(|error| {
            WorkerError::internal(format!("output '{}' of shape {:?}: {error}", self.name, self.shape))
        })
    }

    /// Refuses a length that cannot be the tensor's: the supervisor would, and would take it for a lie.
    pub(crate) fn check_len(&self, length: u64) -> Result<(), WorkerError> {
        match self.byte_len()? {
            Some(expected) if expected != length => Err(WorkerError::internal(format!(
                "output '{}' has {length} bytes, but {} of shape {:?} takes {expected}",
                self.name, self.datatype, self.shape
            ))),
            _ => Ok(()),
        }
    }
}
