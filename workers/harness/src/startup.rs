//! From the start of the process to the loop: inherited sockets, the generation, the choice of a protocol version.

use crate::{
    backend::Backend,
    end::End,
    exit::Exit,
    panics,
    serve::Server,
    session::{Session, Work},
    waiting::Waiter,
};
use nereid_ipc::{Channel, version};
use nereid_proto::worker::{Hello, HelloReply, control_to_supervisor, control_to_worker, heartbeat::Stage};
use std::{env, io::Write as _, process::ExitCode, time::Duration};

/// Names the incarnation; every frame carries it. 0 if the Hello will name it.
const GENERATION: &str = "NEREID_GENERATION";
/// Microseconds that the worker looks again before it sleeps; 0, the default, for none.
const SPIN_US: &str = "NEREID_SPIN_US";
/// A longer spin would only keep a core from others.
const SPIN_US_MAX: u64 = 10_000;

/// What a worker says of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// "echo", "onnxruntime", "python".
    pub kind: String,
    /// The worker's own version.
    pub version: String,
    /// What it runs on, for people: "ONNX Runtime 1.22.1", "CPython 3.11.7".
    pub runtime: String,
}

impl About {
    /// Answers the supervisor's Hello, which comes before anything else. One that names no generation is only a question
    /// whether this worker is ready; another one follows, in its time.
    pub(crate) fn greet(&self, session: &mut Session) -> Result<(), End> {
        loop {
            let hello = hear(session)?;
            let protocol = version::negotiate(hello.protocol_min, hello.protocol_max);
            session.tell(control_to_supervisor::Message::Hello(HelloReply {
                protocol: protocol.unwrap_or_default(),
                worker_version: self.version.clone(),
                kind: self.kind.clone(),
                runtime: self.runtime.clone(),
            }))?;
            protocol.ok_or(End::NoCommonProtocol)?;
            if session.identity().is_known() {
                session.progress.enter(Stage::Idle);
                return session.start_heart(Duration::from_millis(hello.heartbeat_interval_ms.into()));
            }
        }
    }
}

fn hear(session: &mut Session) -> Result<Hello, End> {
    if let Work::Order(order) = session.next()?
        && let control_to_worker::Message::Hello(hello) = *order
    {
        return Ok(hello);
    }
    Err(End::broken("something else before Hello"))
}

/// The worker's ends of the two sockets, and how to use them.
#[derive(Debug)]
pub struct Connection {
    /// Load, readiness, log.
    pub control: Channel,
    /// Batches and segments.
    pub execution: Channel,
    /// The incarnation that the supervisor has started; 0 if the Hello will tell.
    pub generation: u64,
    /// How long to look for a packet before sleeping.
    pub spin: Duration,
}

impl Connection {
    /// What this process was started with.
    fn inherited() -> Result<Self, String> {
        let generation = env::var(GENERATION).ok().and_then(|text| text.parse().ok());
        let generation = generation.ok_or_else(|| {
            format!("{GENERATION} is not set to a number: a worker is started by the supervisor")
        })?;
        let spin_us = env::var(SPIN_US).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let (control, execution) = Channel::inherited().map_err(|error| error.to_string())?;
        let spin = Duration::from_micros(SPIN_US_MAX.min(spin_us));
        Ok(Self { control, execution, generation, spin })
    }
}

/// What `main` of a worker does: serves over the inherited sockets until told to stop.
pub fn run<B: Backend>(about: About, backend: B) -> ExitCode {
    match Connection::inherited() {
        Ok(connection) => {
            panics::remember_locations();
            run_over(connection, about, backend).into()
        }
        Err(reason) => {
            // There is nobody but the person at the terminal.
            let _written = writeln!(std::io::stderr(), "nereid worker '{}': {reason}", about.kind);
            Exit::NotStartedBySupervisor.into()
        }
    }
}

/// Serves over any two sockets.
pub fn run_over<B: Backend>(connection: Connection, about: About, backend: B) -> Exit {
    let Connection { control, execution, generation, spin } = connection;
    let session = Session::new(generation, control, execution, Waiter::new(spin, B::wait));
    match Server::new(session, backend) {
        Ok(server) => server.run(&about).exit(),
        Err(end) => end.exit(),
    }
}
