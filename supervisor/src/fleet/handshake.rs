//! What is said over a worker's control socket, and what its words mean for the lifecycle.
//!
//! Translation only: which word is allowed when is the core's decision.

use nereid_core::config::InstanceSpec;
use nereid_core::ids::Generation;
use nereid_core::lifecycle::instance::Event;
use nereid_ipc::version::{PROTOCOL_MAX, PROTOCOL_MIN};
use nereid_proto::worker::{
    ControlToSupervisor, ControlToWorker, Describe, Description, Hello, Load, Log, Model, Stop,
    control_to_supervisor as from_worker, control_to_worker as to_worker, log::Level,
};

/// A word of a worker's that is not about its lifecycle.
#[derive(Debug)]
pub enum Word {
    /// For the lifecycle.
    Event(Event),
    /// The answer to Describe: the version has to be completed first.
    Described(Box<Description>),
    Log(Log),
    /// Why it is about to exit.
    LastWords(String),
    /// Nothing to do.
    Nothing,
}

/// What a message means.
#[must_use]
pub fn understand(generation: Generation, message: ControlToSupervisor) -> Word {
    if message.generation != generation.0 {
        let what =
            format!("sent a message of generation {} from generation {generation}", message.generation);
        return Word::Event(Event::Misbehaved { generation, what });
    }
    match message.message {
        Some(from_worker::Message::Hello(hello)) => {
            if (PROTOCOL_MIN..=PROTOCOL_MAX).contains(&hello.protocol) {
                tracing::debug!(kind = hello.kind, runtime = hello.runtime, "worker says hello");
                return Word::Event(Event::Hello { generation });
            }
            let what = format!(
                "speaks protocol {}, and the server speaks {PROTOCOL_MIN} to {PROTOCOL_MAX}: install matching versions",
                hello.protocol
            );
            Word::Event(Event::Misbehaved { generation, what })
        }
        Some(from_worker::Message::Description(description)) => Word::Described(Box::new(description)),
        Some(from_worker::Message::Loaded(_)) => Word::Event(Event::Loaded { generation }),
        Some(from_worker::Message::Failed(failure)) => {
            Word::Event(Event::LoadFailed { generation, reason: failure.message })
        }
        Some(from_worker::Message::Log(log)) => Word::Log(log),
        Some(from_worker::Message::LastWords(words)) => Word::LastWords(words.message),
        Some(
            from_worker::Message::Pong(_)
            | from_worker::Message::Readiness(_)
            | from_worker::Message::Heartbeat(_),
        ) => Word::Nothing,
        None => {
            Word::Event(Event::Misbehaved { generation, what: "sent an empty control message".to_owned() })
        }
    }
}

/// Whether a message is a log line, which may be frequent.
#[must_use]
pub const fn is_log(message: &ControlToSupervisor) -> bool {
    matches!(message.message, Some(from_worker::Message::Log(_)))
}

/// Whether anybody wants to see such a line. Workers do not know the server's levels.
#[must_use]
pub fn is_wanted(log: &Log) -> bool {
    match Level::try_from(log.level).unwrap_or(Level::Info) {
        Level::Verbose => tracing::enabled!(target: "worker", tracing::Level::DEBUG),
        Level::Info => tracing::enabled!(target: "worker", tracing::Level::INFO),
        Level::Warning => tracing::enabled!(target: "worker", tracing::Level::WARN),
        Level::Error => tracing::enabled!(target: "worker", tracing::Level::ERROR),
    }
}

/// A worker's log line becomes one of the server's.
pub fn log(model: &str, instance: &str, log: &Log) {
    let Log { level, message, file, line } = log;
    match Level::try_from(*level).unwrap_or(Level::Info) {
        Level::Verbose => tracing::debug!(target: "worker", model, instance, file, line, "{message}"),
        Level::Info => tracing::info!(target: "worker", model, instance, file, line, "{message}"),
        Level::Warning => tracing::warn!(target: "worker", model, instance, file, line, "{message}"),
        Level::Error => tracing::error!(target: "worker", model, instance, file, line, "{message}"),
    }
}

fn envelope(generation: Generation, message: to_worker::Message) -> ControlToWorker {
    ControlToWorker { generation: generation.0, message: Some(message) }
}

/// The first message to a worker.
#[must_use]
pub fn hello(generation: Generation) -> ControlToWorker {
    let hello = Hello {
        protocol_min: PROTOCOL_MIN,
        protocol_max: PROTOCOL_MAX,
        supervisor_version: env!("CARGO_PKG_VERSION").to_owned(),
        heartbeat_interval_ms: 0,
    };
    envelope(generation, to_worker::Message::Hello(hello))
}

/// "Tell what the model is."
#[must_use]
pub fn describe(generation: Generation, model: &Model, spec: &InstanceSpec) -> ControlToWorker {
    let describe = Describe { model: Some(for_instance(model, spec)) };
    envelope(generation, to_worker::Message::Describe(describe))
}

/// "Load the model."
#[must_use]
pub fn load(generation: Generation, model: &Model, spec: &InstanceSpec) -> ControlToWorker {
    let load = Load { model: Some(for_instance(model, spec)) };
    envelope(generation, to_worker::Message::Load(load))
}

/// "Finish and exit."
#[must_use]
pub fn stop(generation: Generation) -> ControlToWorker {
    envelope(generation, to_worker::Message::Stop(Stop {}))
}

fn for_instance(model: &Model, spec: &InstanceSpec) -> Model {
    let mut model = model.clone();
    model.instance_name.clone_from(&spec.name);
    model.kind = spec.kind().into();
    model.device_id = spec.device_id();
    model
}
