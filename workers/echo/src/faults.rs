//! Faults on command, so that tests can see what the supervisor makes of them.
//!
//! | command | does |
//! |---|---|
//! | `none` | nothing: the request is answered as usual |
//! | `exit:N` | exits with code N |
//! | `segv`, `abort`, `panic` | dies of it |
//! | `kill`, `term`, `stop` | sends itself SIGKILL, SIGTERM, SIGSTOP |
//! | `spin`, `sleep` | hangs for ever, busy or idle; answers nothing, not even pings |
//! | `delay:MS` | takes that long; ends early with CANCELLED when the request is cancelled |
//! | `leak:MB` | allocates and touches so much and keeps it; then answers |
//! | `big:BYTES` | answers with one output `BIG` of so many bytes |
//! | `error:TEXT` | fails the request with that text, `error:CODE:TEXT` with that code |
//! | `silence` | does not answer the request |
//! | `close` | shuts the execution socket down, then hangs idle |
//! | `lie:WHAT` | see [`lies`] |
//! | `flood:N` | sends N responses to a ticket that nobody has |
//! | `needs:N` | asks N times for the largest segment that can be told, then answers |
//! | `garbage:N` | sends N packets of bytes that are no frame |
//!
//! While loading, all but those of batches work, and `delay` makes a slow load.

mod command;
mod lies;

use crate::{config::check, ffi};
use command::Command;
use nereid_worker::{
    Batch, DataType, Level, ModelContext, Pause, Request, Value, WorkerError, elements,
    proto::worker::{NeedSegment, Response, execution_to_supervisor::Message},
};
use std::{
    net::Shutdown,
    os::unix::net::{UnixDatagram, UnixStream},
    process,
};

/// The request's parameter, and the model's, that name a fault.
const REQUEST_PARAMETER: &str = "fault";
const LOAD_PARAMETER: &str = "load_fault";
/// Nobody has this ticket.
pub(crate) const STRANGE_TICKET: u64 = u64::MAX - 7;
/// Bytes of a packet of garbage.
const GARBAGE: [u8; 64] = [0xA5; 64];

/// Who may command faults, and what they have left behind.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    by_parameter: bool,
    by_text: bool,
    leaked: Vec<Vec<u8>>,
}

/// A fault that a request of the batch has commanded.
#[derive(Debug)]
pub(crate) struct Commanded {
    index: usize,
    text: String,
}

impl Faults {
    pub(crate) fn of(model: &ModelContext) -> Self {
        Self {
            by_parameter: model.parameter("faults") == Some("true"),
            by_text: model.parameter("behavior") == Some("faults"),
            leaked: Vec::new(),
        }
    }

    /// The first command in the batch.
    pub(crate) fn commanded(&self, batch: &Batch<'_>) -> Option<Commanded> {
        if !self.by_parameter && !self.by_text {
            return None;
        }
        let commands = batch.requests().iter().map(|request| self.command_of(request)).enumerate();
        commands.filter_map(|(index, text)| Some(Commanded { index, text: text? })).next()
    }

    fn command_of(&self, request: &Request) -> Option<String> {
        let parameter = match request.parameter(REQUEST_PARAMETER) {
            Some(Value::StringValue(text)) if self.by_parameter => Some(text.clone()),
            _ => None,
        };
        parameter.or_else(|| if self.by_text { first_text(request) } else { None })
    }

    /// Does what a model's parameter says.
    pub(crate) fn commit_at_load(&mut self, model: &ModelContext) -> Result<(), WorkerError> {
        let Some(text) = model.parameter(LOAD_PARAMETER) else { return Ok(()) };
        match text.parse()? {
            Command::Delay(duration) => {
                check(model.pause(duration) == Pause::Elapsed, || "the load was interrupted".to_owned())
            }
            Command::Error(code, text) => Err(WorkerError::new(code, text)),
            command => check(self.die_or_leak(&command), || {
                format!("parameter '{LOAD_PARAMETER}' is '{text}', which needs a batch")
            }),
        }
    }

    /// Does what a request of the batch says, and `answer`s the batch as usual if the fault allows it.
    pub(crate) fn commit(
        &mut self,
        commanded: Commanded,
        batch: &mut Batch<'_>,
        answer: impl FnOnce(&mut Batch<'_>),
    ) {
        let Commanded { index, text } = commanded;
        // The last that is heard of some of them.
        batch.logger().log(Level::Warning, format!("a request commands a fault: {text}"));
        let done = match text.parse() {
            Ok(Command::Silence) => {
                answer_others(batch, index);
                return;
            }
            Ok(command) => self.perform(&command, index, batch, answer),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            batch.respond_error_to_all(&error);
        }
    }

    fn perform(
        &mut self,
        command: &Command,
        index: usize,
        batch: &mut Batch<'_>,
        answer: impl FnOnce(&mut Batch<'_>),
    ) -> Result<(), WorkerError> {
        match command {
            Command::Delay(duration) => match batch.pause_for(index, *duration) {
                Pause::Elapsed => {}
                Pause::Cancelled => return Err(WorkerError::cancelled("the request was cancelled")),
                Pause::SupervisorGone => return Ok(()),
            },
            Command::Error(code, text) => return Err(WorkerError::new(*code, text.clone())),
            Command::Big(length) => {
                let shape = i64::try_from(*length).map_err(|_| WorkerError::invalid_argument("too big"))?;
                batch.output(index, "BIG", DataType::Uint8, &[shape])?.fill(1);
            }
            Command::Close => {
                let socket = batch.raw().socket().map_err(system)?;
                UnixStream::from(socket).shutdown(Shutdown::Both).map_err(system)?;
                sleep();
            }
            Command::Lie(lie) => return lie.tell(index, batch, answer),
            Command::Flood(count) => flood(batch, *count)?,
            Command::Needs(count) => {
                let need = Message::NeedSegment(NeedSegment { length: u64::MAX });
                (0..*count).try_for_each(|_| batch.raw().send(need.clone()))?;
            }
            Command::Garbage(count) => {
                let socket = UnixDatagram::from(batch.raw().socket().map_err(system)?);
                (0..*count).try_for_each(|_| socket.send(&GARBAGE).map(drop)).map_err(system)?;
            }
            other => {
                self.die_or_leak(other);
            }
        }
        answer(batch);
        Ok(())
    }

    /// What needs no batch. False when the command is none of that kind.
    fn die_or_leak(&mut self, command: &Command) -> bool {
        match command {
            Command::Exit(code) => ffi::exit(*code),
            Command::Segv => drop(std::hint::black_box(ffi::segfault())),
            Command::Abort => process::abort(),
            Command::Panic => panic!("on command"),
            Command::Signal(signal) => ffi::signal_self(*signal),
            Command::Spin => loop {
                std::hint::spin_loop();
            },
            Command::Sleep => sleep(),
            Command::Leak(bytes) => self.leaked.push(vec![1; *bytes]),
            Command::None => {}
            _ => return false,
        }
        true
    }
}

/// For ever, without a look at any socket.
fn sleep() -> ! {
    loop {
        std::thread::park();
    }
}

fn flood(batch: &mut Batch<'_>, count: u64) -> Result<(), WorkerError> {
    let response = Response { ticket: STRANGE_TICKET, ..Response::default() };
    let message = Message::Response(response);
    (0..count).try_for_each(|_| batch.raw().send(message.clone()))
}

/// Everybody but one gets an empty answer.
fn answer_others(batch: &mut Batch<'_>, index: usize) {
    for other in (0..batch.requests().len()).filter(|other| *other != index) {
        // Only a final response could forbid it, and none was sent.
        let _complete = batch.complete(other);
    }
}

fn first_text(request: &Request) -> Option<String> {
    let input = request.inputs().iter().find(|input| input.datatype() == DataType::Bytes)?;
    let text = elements::elements(input.bytes()).next()?.ok()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn system(error: std::io::Error) -> WorkerError {
    WorkerError::internal(format!("the fault could not be committed: {error}"))
}
