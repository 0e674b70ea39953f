//! Sends answers: normally all of a batch in one packet.
//!
//! The supervisor takes frames up to a limit, and a model may have more to say: errors by the hundred, parameters of
//! any size. That is the requests' failure and not the worker's, so it is met here.

use super::{Batch, answer::Answer};
use crate::{
    end::End,
    error::WorkerError,
    session::{Sent, Session},
};
use nereid_ipc::packet::MAX_FRAME_FROM_WORKER;
use nereid_proto::worker::{Executed, Response, execution_to_supervisor::Message};

impl Batch<'_> {
    /// Sends all answers that are left. The vector comes back empty, to be used again.
    pub(crate) fn finish(mut self, mut responses: Vec<Response>) -> Result<Vec<Response>, End> {
        responses.extend(self.answers.drain(..).filter_map(Answer::into_last));
        self.commit(&responses);
        let timing = Some(self.clock.stop());
        self.session.end();
        if let Some(end) = self.session.ended() {
            return Err(end.clone());
        }
        let executed = Executed { batch: self.number, responses, timing };
        let Sent { fits, message } = self.session.answer(Message::Executed(executed))?;
        let Some(Message::Executed(mut executed)) = message else { return Ok(Vec::new()) };
        if !fits {
            send_in_parts(self.session, &mut executed)?;
        }
        executed.responses.clear();
        Ok(executed.responses)
    }

    /// Hands the memory that the responses name to the supervisor; the rest returns to the arena.
    fn commit(&mut self, responses: &[Response]) {
        for buffer in self.buffers.drain(..) {
            let slot = buffer.slot();
            let mut sent = responses.iter().flat_map(|response| &response.outputs);
            if !self.discarded || sent.any(|output| output.slot == slot) {
                buffer.commit();
            }
        }
    }

    /// Sends a response whose outputs were committed.
    pub(super) fn send_response(&mut self, response: Response) -> Result<(), WorkerError> {
        self.session.within(|session| send_one(session, response))?
    }
}

/// A response that does not fit becomes an error, which is also told to the backend.
fn send_one(session: &mut Session, response: Response) -> Result<Result<(), WorkerError>, End> {
    let Sent { fits, message } = session.answer(Message::Response(response))?;
    let (false, Some(Message::Response(mut response))) = (fits, message) else { return Ok(Ok(())) };
    take_back(session, &mut response);
    session.answer(Message::Response(response))?;
    Ok(Err(too_large()))
}

/// Answers without outputs go on their own. Those with outputs stay together, since they may share memory; if they are
/// still too large, they become errors.
fn send_in_parts(session: &mut Session, executed: &mut Executed) -> Result<(), End> {
    let (with_outputs, without) = std::mem::take(&mut executed.responses)
        .into_iter()
        .partition::<Vec<_>, _>(|response| !response.outputs.is_empty());
    for response in without {
        let _told = send_one(session, response)?;
    }
    executed.responses = with_outputs;
    if send_again(session, executed)? {
        return Ok(());
    }
    for mut response in std::mem::take(&mut executed.responses) {
        take_back(session, &mut response);
        let _told = send_one(session, response)?;
    }
    send_again(session, executed).map(drop)
}

fn send_again(session: &mut Session, executed: &mut Executed) -> Result<bool, End> {
    let Sent { fits, message } = session.answer(Message::Executed(std::mem::take(executed)))?;
    if let Some(Message::Executed(sent)) = message {
        *executed = sent;
    }
    Ok(fits)
}

/// Makes an error of a response, and takes the memory of its outputs back.
fn take_back(session: &mut Session, response: &mut Response) {
    for output in response.outputs.drain(..) {
        session.memory.take_back(output.slot);
    }
    response.parameters.clear();
    response.error = Some(too_large().into());
}

fn too_large() -> WorkerError {
    WorkerError::internal(format!(
        "the outputs and parameters of the response take more than {MAX_FRAME_FROM_WORKER} bytes to describe; answer \
         with fewer or shorter ones"
    ))
}
