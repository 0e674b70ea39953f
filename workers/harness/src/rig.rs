//! A supervisor in a few lines, for tests of backends: it runs one in a thread and speaks to it over real sockets.
//!
//! Only with the feature `rig`. It lays out inputs as the supervisor does, answers requests for memory, checks what
//! comes back, and panics when something is not as it should be or does not come in time. Deliberately not here:
//! processes, and any lenience.

mod ask;

pub use ask::{Answer, Ask, Output};

use crate::{About, Backend, Connection, Exit, startup};
use nereid_ipc::{
    Channel, Received,
    arena::{InputArena, Lease, NewSegment, OutputReader},
};
use nereid_proto::worker::{
    CheckReady, ControlToSupervisor, ControlToWorker, Describe, Execute, ExecutionToSupervisor,
    ExecutionToWorker, Failure, Heartbeat, Hello, HelloReply, Load, Loaded, Log, Model, NeedSegment, Ping,
    Pong, Readiness, SegmentRefused, Stop, Timing, control_to_supervisor, control_to_worker,
    execution_to_supervisor, execution_to_worker,
};
use std::{
    os::fd::{AsFd as _, OwnedFd},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The generation of every rig.
pub const GENERATION: u64 = 42;
/// Who waits longer than this waits for ever.
const PATIENCE: Duration = Duration::from_secs(20);
/// Enough for any test, unless it tests the limit.
const ARENA_LIMIT: u64 = 256 * 1024 * 1024;

/// The supervisor's end of one worker.
#[derive(Debug)]
pub struct Rig {
    control: Channel,
    execution: Channel,
    inputs: InputArena,
    outputs: OutputReader,
    output_limit: u64,
    /// None for a worker that is a process of its own.
    worker: Option<JoinHandle<Exit>>,
    batches: u64,
    tickets: u64,
    released: Vec<u64>,
    /// Times that the worker asked for memory.
    pub needs: Vec<u64>,
    /// Lines that the worker has logged.
    pub logs: Vec<Log>,
    /// What came so far.
    pub heartbeats: Vec<Heartbeat>,
}

/// What a batch brought.
#[derive(Debug)]
pub struct Outcome {
    /// In the order of the requests.
    pub tickets: Vec<u64>,
    /// In the order in which they came: those sent early, then those at the end of the batch.
    pub answers: Vec<Answer>,
    /// Where the time went.
    pub timing: Timing,
}

impl Outcome {
    /// All answers to one request.
    #[must_use]
    pub fn all(&self, index: usize) -> Vec<&Answer> {
        self.answers.iter().filter(|answer| answer.ticket == self.tickets[index]).collect()
    }

    /// The only answer to one request.
    #[must_use]
    pub fn only(&self, index: usize) -> &Answer {
        let all = self.all(index);
        assert!(all.len() == 1 && all[0].last, "not one final answer: {all:?}");
        all[0]
    }
}

/// A batch on its way, with the memory of its inputs.
#[derive(Debug)]
pub struct Sent {
    /// Its number.
    pub batch: u64,
    /// Of its requests, in order.
    pub tickets: Vec<u64>,
    _leases: Vec<Lease>,
}

impl Rig {
    /// Runs the backend in a thread and shakes hands.
    pub fn start(backend: impl Backend + Send + 'static) -> Self {
        let mut rig = Self::start_silent(backend);
        assert_eq!(rig.greet().protocol, 1);
        rig
    }

    /// Runs the backend in a thread and says nothing.
    pub fn start_silent(backend: impl Backend + Send + 'static) -> Self {
        Self::start_as(GENERATION, backend)
    }

    /// The same for a worker that does not know its generation yet.
    pub fn start_early(backend: impl Backend + Send + 'static) -> Self {
        Self::start_as(0, backend)
    }

    fn start_as(generation: u64, backend: impl Backend + Send + 'static) -> Self {
        let (control, worker_control) = Channel::pair().expect("a socket pair");
        let (execution, worker_execution) = Channel::pair().expect("a socket pair");
        let connection = Connection {
            control: worker_control,
            execution: worker_execution,
            generation,
            spin: Duration::ZERO,
        };
        let about =
            About { kind: "test".to_owned(), version: "0".to_owned(), runtime: "a thread".to_owned() };
        let worker = std::thread::spawn(move || startup::run_over(connection, about, backend));
        Self { worker: Some(worker), ..Self::connect(control, execution) }
    }

    /// The supervisor of a worker that runs elsewhere, as generation [`GENERATION`].
    #[must_use]
    pub fn connect(control: Channel, execution: Channel) -> Self {
        Self {
            control,
            execution,
            inputs: InputArena::new(ARENA_LIMIT),
            outputs: OutputReader::new(ARENA_LIMIT),
            output_limit: ARENA_LIMIT,
            worker: None,
            batches: 0,
            tickets: 0,
            released: Vec::new(),
            needs: Vec::new(),
            logs: Vec::new(),
            heartbeats: Vec::new(),
        }
    }

    /// Says Hello.
    pub fn greet(&mut self) -> HelloReply {
        self.greet_asking_for_heartbeats(Duration::ZERO)
    }

    /// Says Hello, and wants a heartbeat per `interval`.
    pub fn greet_asking_for_heartbeats(&mut self, interval: Duration) -> HelloReply {
        let hello = Hello {
            protocol_min: 1,
            protocol_max: 1,
            supervisor_version: "rig".to_owned(),
            heartbeat_interval_ms: u32::try_from(interval.as_millis()).expect("a short interval"),
        };
        self.order(control_to_worker::Message::Hello(hello));
        match self.reply() {
            control_to_supervisor::Message::Hello(reply) => reply,
            other => panic!("not a HelloReply: {other:?}"),
        }
    }

    /// Limits what the worker gets for its outputs. Before the first batch.
    #[must_use]
    pub fn with_output_limit(mut self, bytes: u64) -> Self {
        self.outputs = OutputReader::new(bytes);
        self.output_limit = bytes;
        self
    }

    // --- Control ---

    /// Sends a control message.
    pub fn order(&mut self, message: control_to_worker::Message) {
        self.order_as(GENERATION, message);
    }

    /// Sends a control message of some generation.
    pub fn order_as(&mut self, generation: u64, message: control_to_worker::Message) {
        let frame = ControlToWorker { generation, message: Some(message) };
        self.control.send(&frame, None).expect("the worker takes orders");
    }

    /// The next control message that is neither a log line nor a heartbeat.
    pub fn reply(&mut self) -> control_to_supervisor::Message {
        loop {
            wait(&self.control);
            let frame: ControlToSupervisor = self.control.recv().expect("the worker replies").message;
            assert_eq!(frame.generation, GENERATION);
            match frame.message.expect("a message in the frame") {
                control_to_supervisor::Message::Log(log) => self.logs.push(log),
                control_to_supervisor::Message::Heartbeat(beat) => self.heartbeats.push(beat),
                reply => return reply,
            }
        }
    }

    /// Waits for a log line, which also tells how far the worker has come.
    pub fn log_line(&mut self) -> Log {
        wait(&self.control);
        let frame: ControlToSupervisor = self.control.recv().expect("the worker logs").message;
        match frame.message {
            Some(control_to_supervisor::Message::Log(log)) => log,
            other => panic!("not a log line: {other:?}"),
        }
    }

    /// Waits for a heartbeat that `fits`.
    pub fn heartbeat(&mut self, fits: impl Fn(&Heartbeat) -> bool) -> Heartbeat {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            wait(&self.control);
            let frame: ControlToSupervisor = self.control.recv().expect("the worker beats").message;
            match frame.message {
                Some(control_to_supervisor::Message::Heartbeat(beat)) if fits(&beat) => return beat,
                Some(control_to_supervisor::Message::Heartbeat(beat)) => self.heartbeats.push(beat),
                other => panic!("not a heartbeat: {other:?}"),
            }
        }
        panic!("no such heartbeat in {PATIENCE:?}, only {:?}", self.heartbeats);
    }

    /// Asks the backend about its model.
    pub fn describe(&mut self, model: Model) -> control_to_supervisor::Message {
        self.order(control_to_worker::Message::Describe(Describe { model: Some(model) }));
        self.reply()
    }

    /// Loads a model.
    pub fn load(&mut self, model: Model) -> Result<Loaded, Failure> {
        self.order(control_to_worker::Message::Load(Load { model: Some(model) }));
        match self.reply() {
            control_to_supervisor::Message::Loaded(loaded) => Ok(loaded),
            control_to_supervisor::Message::Failed(failure) => Err(failure),
            other => panic!("not an answer to Load: {other:?}"),
        }
    }

    /// Asks for progress.
    pub fn ping(&mut self, nonce: u64) -> Pong {
        self.order(control_to_worker::Message::Ping(Ping { nonce }));
        match self.reply() {
            control_to_supervisor::Message::Pong(pong) => pong,
            other => panic!("not a Pong: {other:?}"),
        }
    }

    /// Runs the model's readiness check.
    pub fn check_ready(&mut self) -> Readiness {
        self.order(control_to_worker::Message::CheckReady(CheckReady { nonce: 5 }));
        match self.reply() {
            control_to_supervisor::Message::Readiness(readiness) => readiness,
            other => panic!("not a Readiness: {other:?}"),
        }
    }

    /// What the worker says before it exits.
    pub fn last_words(&mut self) -> String {
        match self.reply() {
            control_to_supervisor::Message::LastWords(words) => words.message,
            other => panic!("not last words: {other:?}"),
        }
    }

    /// Stops the worker and waits for its end.
    pub fn stop(mut self) -> Exit {
        self.order(control_to_worker::Message::Stop(Stop {}));
        self.exit()
    }

    /// Waits for the end of the worker.
    pub fn exit(self) -> Exit {
        // The worker's sockets close when it ends, whichever way.
        wait(&self.control);
        join(self.worker)
    }

    /// Closes the control socket only, and waits for the end of the worker.
    pub fn close_control(self) -> Exit {
        let Self { control, execution: _kept, worker, .. } = self;
        drop(control);
        join(worker)
    }

    /// Closes the execution socket only, and waits for the end of the worker.
    pub fn close_execution(self) -> Exit {
        let Self { control: _kept, execution, worker, .. } = self;
        drop(execution);
        join(worker)
    }

    /// Closes both sockets, as the death of the supervisor does, and waits for the end of the worker.
    pub fn vanish(self) -> Exit {
        let Self { control, execution, worker, .. } = self;
        drop((control, execution));
        join(worker)
    }

    // --- Execution ---

    /// Executes a batch to its end.
    pub fn execute(&mut self, asks: Vec<Ask>) -> Outcome {
        let sent = self.send(asks, Layout::Adjacent);
        self.finish(sent)
    }

    /// Sends a batch.
    pub fn send(&mut self, asks: Vec<Ask>, layout: Layout) -> Sent {
        let first = self.tickets + 1;
        self.tickets += asks.len() as u64;
        self.batches += 1;
        let (batch, tickets) = (self.batches, (first..=self.tickets).collect::<Vec<_>>());
        let (requests, leases) = self.lay_out(asks, &tickets, layout);
        let released = std::mem::take(&mut self.released);
        self.tell(execution_to_worker::Message::Execute(Execute { batch, requests, released }));
        Sent { batch, tickets, _leases: leases }
    }

    /// Sends a batch without giving back the slots of earlier answers. They are never given back by the rig.
    pub fn send_keeping_slots(&mut self, asks: Vec<Ask>) -> Sent {
        self.released.clear();
        self.send(asks, Layout::Adjacent)
    }

    /// Receives all answers to a batch, and gives the worker the memory that it asks for.
    pub fn finish(&mut self, sent: Sent) -> Outcome {
        let mut answers = Vec::new();
        loop {
            match self.listen() {
                execution_to_supervisor::Message::Response(response) => {
                    answers.push(self.read(response));
                }
                execution_to_supervisor::Message::NeedSegment(need) => self.give(need),
                execution_to_supervisor::Message::Executed(executed) => {
                    assert_eq!(executed.batch, sent.batch);
                    for response in executed.responses {
                        assert!(response.r#final, "the batch is over, but not the answer: {response:?}");
                        answers.push(self.read(response));
                    }
                    let timing = executed.timing.unwrap_or_default();
                    return Outcome { tickets: sent.tickets, answers, timing };
                }
            }
        }
    }

    /// Answers a need for output memory.
    pub fn give(&mut self, need: NeedSegment) {
        self.needs.push(need.length);
        match self.outputs.new_segment(need.length) {
            Ok(segment) => self.announce(segment),
            Err(_limit) => self.refuse(need),
        }
    }

    /// Refuses a need for output memory.
    pub fn refuse(&mut self, need: NeedSegment) {
        let refused = SegmentRefused { length: need.length, limit: self.output_limit };
        self.tell(execution_to_worker::Message::SegmentRefused(refused));
    }

    /// Sends an execution message.
    pub fn tell(&mut self, message: execution_to_worker::Message) {
        self.tell_with(message, None);
    }

    /// Sends an execution message, perhaps with an fd.
    pub fn tell_with(&mut self, message: execution_to_worker::Message, fd: Option<OwnedFd>) {
        let frame = ExecutionToWorker { generation: GENERATION, message: Some(message) };
        self.execution.send(&frame, fd.as_ref().map(OwnedFd::as_fd)).expect("the worker takes messages");
    }

    /// The next execution message.
    pub fn listen(&mut self) -> execution_to_supervisor::Message {
        let frame = self.listen_raw();
        assert_eq!(frame.generation, GENERATION);
        frame.message.expect("a message in the frame")
    }

    /// The next frame on the execution socket.
    pub fn listen_raw(&mut self) -> ExecutionToSupervisor {
        wait(&self.execution);
        let Received { message, fd } = self.execution.recv().expect("the worker sends");
        assert!(fd.is_none(), "a worker sends no fds");
        message
    }

    /// The supervisor's control socket, for what is no order.
    pub fn control(&mut self) -> &mut Channel {
        &mut self.control
    }

    /// The supervisor's execution socket, for what is no frame.
    pub fn execution(&mut self) -> &mut Channel {
        &mut self.execution
    }

    fn announce(&mut self, segment: NewSegment) {
        let message = execution_to_worker::Message::AddSegment(segment.message());
        self.tell_with(message, Some(segment.fd));
    }
}

/// Where the inputs of a batch are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The rows of one input of all requests side by side, as the supervisor does.
    Adjacent,
    /// Each tensor in a place of its own.
    Apart,
}

fn join(worker: Option<JoinHandle<Exit>>) -> Exit {
    let worker = worker.expect("a worker in a thread; the end of a process is seen elsewhere");
    worker.join().expect("the harness does not panic")
}

fn wait(channel: &Channel) {
    let ready = Channel::wait_readable(&[channel], Some(PATIENCE)).expect("poll");
    assert!(!ready.timed_out(), "nothing came from the worker in {PATIENCE:?}");
}
