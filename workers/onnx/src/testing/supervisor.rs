//! The supervisor's part of a worker's life, in one thread of a test: arenas, descriptors, one batch at a time.
//!
//! Deliberately not here: everything that a supervisor decides.

use crate::backend::OnnxBackend;
use nereid_ipc::arena::{InputArena, NewSegment, OutputReader};
use nereid_worker::{
    About, Channel, Connection, DataType, Exit,
    proto::worker::{
        ControlToSupervisor, ControlToWorker, Describe, Execute, ExecutionToSupervisor, ExecutionToWorker,
        Failure, Hello, Load, Log, Model, Request, Response, Stop, Tensor, TensorFacts,
        control_to_supervisor as from_worker, control_to_worker as to_worker, description::Proposal,
        execution_to_supervisor, execution_to_worker,
    },
};
use std::{collections::BTreeMap, os::fd::AsFd as _, thread::JoinHandle, time::Duration};

const GENERATION: u64 = 7;
const ARENA_BYTES_MAX: u64 = 256 << 20;

/// A tensor with its bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Data {
    pub(crate) datatype: DataType,
    pub(crate) shape: Vec<i64>,
    pub(crate) bytes: Vec<u8>,
}

/// What a client asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask {
    pub(crate) inputs: Vec<(&'static str, Data)>,
    pub(crate) outputs: Vec<&'static str>,
}

/// What it gets.
pub(crate) type Answer = Result<BTreeMap<String, Data>, Failure>;

/// A worker in a thread, and the sockets to it.
pub(crate) struct Supervisor {
    control: Channel,
    execution: Channel,
    inputs: InputArena,
    outputs: OutputReader,
    worker: JoinHandle<Exit>,
    batch: u64,
    released: Vec<u64>,
    pub(crate) logged: Vec<Log>,
}

impl Supervisor {
    pub(crate) fn start() -> Self {
        let (control, worker_control) = Channel::pair().unwrap();
        let (execution, worker_execution) = Channel::pair().unwrap();
        let worker = std::thread::spawn(move || {
            let connection = Connection {
                control: worker_control,
                execution: worker_execution,
                generation: GENERATION,
                spin: Duration::ZERO,
            };
            let about = About { kind: "onnxruntime".into(), version: "0".into(), runtime: "test".into() };
            nereid_worker::run_over(connection, about, OnnxBackend::default())
        });
        let mut supervisor = Self {
            control,
            execution,
            inputs: InputArena::new(ARENA_BYTES_MAX),
            outputs: OutputReader::new(ARENA_BYTES_MAX),
            worker,
            batch: 0,
            released: Vec::new(),
            logged: Vec::new(),
        };
        let hello = Hello {
            protocol_min: 1,
            protocol_max: 1,
            supervisor_version: "test".into(),
            heartbeat_interval_ms: 0,
        };
        match supervisor.order(to_worker::Message::Hello(hello)) {
            from_worker::Message::Hello(reply) => assert_eq!(reply.kind, "onnxruntime"),
            other => panic!("{other:?}"),
        }
        supervisor
    }

    pub(crate) fn describe(&mut self, model: Model) -> Result<Option<TensorFacts>, Failure> {
        match self.order(to_worker::Message::Describe(Describe { model: Some(model) })) {
            from_worker::Message::Description(description) => match description.proposal {
                Some(Proposal::Facts(facts)) => Ok(Some(facts)),
                _ => Ok(None),
            },
            from_worker::Message::Failed(failure) => Err(failure),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn load(&mut self, model: Model) -> Result<(), Failure> {
        match self.order(to_worker::Message::Load(Load { model: Some(model) })) {
            from_worker::Message::Loaded(_) => Ok(()),
            from_worker::Message::Failed(failure) => Err(failure),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn stop(mut self) -> Vec<Log> {
        let message = Some(to_worker::Message::Stop(Stop {}));
        self.control.send(&ControlToWorker { generation: GENERATION, message }, None).unwrap();
        assert_eq!(self.worker.join().unwrap(), Exit::Stopped);
        self.logged
    }

    /// One batch of requests; their answers in the same order.
    pub(crate) fn execute(&mut self, asks: &[Ask]) -> Vec<Answer> {
        let requests: Vec<Request> = asks.iter().zip(1..).map(|(ask, ticket)| request(ask, ticket)).collect();
        let (requests, leases) = self.lay_out(requests, asks);
        self.batch += 1;
        let execute = Execute { batch: self.batch, requests, released: std::mem::take(&mut self.released) };
        self.send(execution_to_worker::Message::Execute(execute), None);
        let responses = self.responses();
        drop(leases);
        assert_eq!(responses.len(), asks.len());
        responses.into_iter().map(|response| self.read(response)).collect()
    }

    /// Puts the rows of each input of all requests side by side.
    fn lay_out(
        &mut self,
        mut requests: Vec<Request>,
        asks: &[Ask],
    ) -> (Vec<Request>, Vec<nereid_ipc::arena::Lease>) {
        let mut leases = Vec::new();
        for (name, _) in &asks[0].inputs {
            let data = |ask: &Ask| ask.inputs.iter().find(|(other, _)| other == name).unwrap().1.clone();
            let rows: Vec<Data> = asks.iter().map(data).collect();
            let total: usize = rows.iter().map(|row| row.bytes.len()).sum();
            let (mut lease, new) = self.inputs.lease(total as u64).unwrap();
            if let Some(new) = new {
                self.announce(&new);
            }
            let mut offset = 0;
            for (request, row) in requests.iter_mut().zip(rows) {
                lease.write_at(offset, &row.bytes).unwrap();
                request.inputs.push(Tensor {
                    name: (*name).to_owned(),
                    data_type: row.datatype.number(),
                    shape: row.shape,
                    segment: lease.segment(),
                    offset: lease.offset() + offset as u64,
                    length: row.bytes.len() as u64,
                    slot: 0,
                });
                offset += row.bytes.len();
            }
            leases.push(lease);
        }
        (requests, leases)
    }

    fn responses(&mut self) -> Vec<Response> {
        loop {
            let received = self.execution.recv::<ExecutionToSupervisor>().unwrap();
            match received.message.message.unwrap() {
                execution_to_supervisor::Message::Executed(executed) => return executed.responses,
                execution_to_supervisor::Message::NeedSegment(need) => {
                    let new = self.outputs.new_segment(need.length).unwrap();
                    self.announce(&new);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn read(&mut self, response: Response) -> Answer {
        assert!(response.r#final);
        if let Some(failure) = response.error {
            assert!(response.outputs.is_empty());
            return Err(failure);
        }
        let mut outputs = BTreeMap::new();
        for tensor in response.outputs {
            let view = self.outputs.take(tensor).unwrap();
            if !self.released.contains(&view.slot) {
                self.released.push(view.slot);
            }
            let data = Data { datatype: view.datatype, shape: view.shape.clone(), bytes: view.copy() };
            outputs.insert(view.name.clone(), data);
        }
        Ok(outputs)
    }

    fn announce(&mut self, new: &NewSegment) {
        self.send(execution_to_worker::Message::AddSegment(new.message()), Some(new));
    }

    fn send(&mut self, message: execution_to_worker::Message, new: Option<&NewSegment>) {
        let frame = ExecutionToWorker { generation: GENERATION, message: Some(message) };
        self.execution.send(&frame, new.map(|new| new.fd.as_fd())).unwrap();
    }

    fn order(&mut self, message: to_worker::Message) -> from_worker::Message {
        self.control.send(&ControlToWorker { generation: GENERATION, message: Some(message) }, None).unwrap();
        loop {
            let received = self.control.recv::<ControlToSupervisor>().unwrap();
            match received.message.message.unwrap() {
                from_worker::Message::Log(log) => self.logged.push(log),
                answer => return answer,
            }
        }
    }
}

fn request(ask: &Ask, ticket: u64) -> Request {
    let requested_outputs = ask.outputs.iter().map(|name| (*name).to_owned()).collect();
    Request { ticket, requested_outputs, ..Request::default() }
}
