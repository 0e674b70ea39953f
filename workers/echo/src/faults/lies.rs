//! Lies about answers, by their names in `lie:WHAT`.
//!
//! The first group spoils the first output of an honest answer: `shape` (does not fit the bytes), `negative` (a
//! dimension), `rank` (too many dimensions), `config` (fits the bytes, but is not what the model answers with),
//! `name`, `datatype` (no such number), `bounds` (beyond the segment), `overflow` (offset and length exceed 64 bits),
//! `segment` (unknown), `elements` (one byte too few, so that BYTES end within an element).
//!
//! The second group sends a message too many before the honest answer: `ticket` (a response to a ticket that nobody
//! has), `batch` (a batch that nobody sent), `generation` (another incarnation), `duplicate` (a second final
//! response), `late` (a batch that ends twice), `empty` (a frame without a message).

use super::STRANGE_TICKET;
use nereid_worker::{
    Batch, WorkerError,
    proto::worker::{Executed, ExecutionToSupervisor, Response, Tensor, execution_to_supervisor::Message},
};

/// More dimensions than any tensor has.
const DIMENSIONS: usize = 4000;
/// No type has this number.
const STRANGE_DATATYPE: u32 = 99;
/// No segment has this number.
const STRANGE_SEGMENT: u32 = 4_000_000;
/// Farther than any segment reaches.
const STRANGE_OFFSET: u64 = 1 << 50;
/// So many batches ahead of the supervisor.
const STRANGE_BATCH: u64 = 1_000_000;

/// What is not true.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lie {
    Output(fn(&mut Tensor)),
    Message(fn(&mut Batch<'_>, u64) -> Result<(), WorkerError>),
}

impl Lie {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "shape" => Self::Output(|tensor| tensor.shape.push(7)),
            "negative" => Self::Output(|tensor| tensor.shape = vec![-1, -1]),
            "rank" => Self::Output(|tensor| tensor.shape = vec![1; DIMENSIONS]),
            "config" => Self::Output(|tensor| tensor.shape.extend([1, 1, 1])),
            "name" => Self::Output(|tensor| tensor.name = "NOT_AN_OUTPUT".to_owned()),
            "datatype" => Self::Output(|tensor| tensor.data_type = STRANGE_DATATYPE),
            "bounds" => Self::Output(|tensor| tensor.offset = STRANGE_OFFSET),
            "overflow" => Self::Output(|tensor| tensor.offset = u64::MAX - 1),
            "segment" => Self::Output(|tensor| tensor.segment = STRANGE_SEGMENT),
            "elements" => Self::Output(|tensor| tensor.length = tensor.length.saturating_sub(1)),
            "ticket" => Self::Message(|batch, _| batch.raw().send(Message::Response(last(STRANGE_TICKET)))),
            "batch" => Self::Message(|batch, _| ended(batch, STRANGE_BATCH)),
            "generation" => Self::Message(|batch, ticket| {
                let generation = batch.raw().generation() + 1;
                let message = Some(Message::Response(last(ticket)));
                batch.raw().send_frame(&ExecutionToSupervisor { generation, message })
            }),
            "duplicate" => Self::Message(|batch, ticket| batch.raw().send(Message::Response(last(ticket)))),
            "late" => Self::Message(|batch, _| ended(batch, 0)),
            "empty" => Self::Message(|batch, _| {
                let generation = batch.raw().generation();
                batch.raw().send_frame(&ExecutionToSupervisor { generation, message: None })
            }),
            _ => return None,
        })
    }

    /// Tells the lie on behalf of one request; `answer` answers honestly.
    pub(super) fn tell(
        self,
        index: usize,
        batch: &mut Batch<'_>,
        answer: impl FnOnce(&mut Batch<'_>),
    ) -> Result<(), WorkerError> {
        match self {
            Self::Message(say) => {
                let ticket = batch.requests()[index].ticket();
                say(batch, ticket)?;
                answer(batch);
            }
            Self::Output(spoil) => {
                answer(batch);
                let mut raw = batch.raw();
                let output = raw.outputs(index).and_then(|outputs| outputs.first_mut());
                spoil(
                    output.ok_or_else(|| WorkerError::invalid_argument("there is no output to lie about"))?,
                );
            }
        }
        Ok(())
    }
}

/// A final response without outputs.
fn last(ticket: u64) -> Response {
    Response { ticket, r#final: true, ..Response::default() }
}

/// The end of the batch that comes so much later, with an answer to every request.
fn ended(batch: &mut Batch<'_>, later: u64) -> Result<(), WorkerError> {
    let responses = batch.requests().iter().map(|request| last(request.ticket())).collect();
    let number = batch.raw().number() + later;
    batch.raw().send(Message::Executed(Executed { batch: number, responses, timing: None }))
}
