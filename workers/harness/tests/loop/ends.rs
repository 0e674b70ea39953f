use super::{Scripted, model};
use nereid_worker::{
    Backend, Batch, DataType, Exit, ModelContext, Pause, WorkerError,
    proto::worker::{
        AddSegment, ControlToWorker, Execute, ExecutionToWorker, Ping, Release, Request, Tensor,
        control_to_worker, execution_to_supervisor, execution_to_worker,
    },
    rig::{Ask, GENERATION, Layout, Rig},
};
use std::{
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixDatagram,
    },
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

/// A loaded worker that is to die from one message.
fn dies_of(message: execution_to_worker::Message) -> String {
    let mut rig = Scripted::mirror().loaded();
    // Gives it an input and an output segment.
    rig.execute(vec![Ask::new().int32("A", &[1], &[1])]);
    rig.tell(message);
    let words = rig.last_words();
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
    words
}

fn execute(input: Tensor) -> execution_to_worker::Message {
    let requests = vec![Request { ticket: 99, inputs: vec![input], ..Request::default() }];
    execution_to_worker::Message::Execute(Execute { batch: 2, requests, released: vec![] })
}

#[test]
fn an_input_that_lies_nowhere_ends_the_worker() {
    let tensor = |segment, offset| Tensor {
        name: "A".to_owned(),
        data_type: DataType::Int32.number(),
        shape: vec![1],
        segment,
        offset,
        length: 4,
        slot: 0,
    };
    assert!(dies_of(execute(tensor(9, 0))).contains("there is no segment 9"));
    assert!(dies_of(execute(tensor(1, u64::MAX - 1))).contains("do not lie within its segment"));
    assert!(dies_of(execute(Tensor { shape: vec![2], ..tensor(1, 0) })).contains("takes 8"));
}

#[test]
fn a_slot_that_was_not_lent_ends_the_worker() {
    let words = dies_of(execution_to_worker::Message::Release(Release { slots: vec![1, 1] }));
    assert!(words.starts_with("the supervisor broke the protocol: there is no output slot 1"), "{words}");
}

#[test]
fn a_segment_without_its_fd_ends_the_worker() {
    let add = AddSegment { segment: 7, direction: 0, length: 4096 };
    assert!(dies_of(execution_to_worker::Message::AddSegment(add)).contains("a segment without its fd"));
}

#[test]
fn an_fd_without_its_segment_ends_the_worker() {
    let mut rig = Scripted::mirror().loaded();
    let fd = rig.execution().as_fd().try_clone_to_owned().unwrap();
    rig.tell_with(execution_to_worker::Message::Release(Release { slots: vec![] }), Some(fd));
    assert!(rig.last_words().contains("an fd that belongs to no segment"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn an_fd_that_is_no_sealed_memory_ends_the_worker() {
    let mut rig = Scripted::mirror().loaded();
    let fd = rig.execution().as_fd().try_clone_to_owned().unwrap();
    let add = AddSegment { segment: 7, direction: 0, length: 4096 };
    rig.tell_with(execution_to_worker::Message::AddSegment(add), Some(fd));
    assert!(rig.last_words().contains("not a memfd"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn frames_of_another_incarnation_end_the_worker() {
    let mut rig = Scripted::mirror().loaded();
    rig.order_as(GENERATION + 1, control_to_worker::Message::Ping(Ping { nonce: 1 }));
    assert!(rig.last_words().contains("belongs to generation 43; this is generation 42"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);

    let mut rig = Scripted::mirror().loaded();
    let release = execution_to_worker::Message::Release(Release { slots: vec![] });
    let frame = ExecutionToWorker { generation: GENERATION - 1, message: Some(release) };
    rig.execution().send(&frame, None).unwrap();
    assert!(rig.last_words().contains("belongs to generation 41"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn bytes_that_are_no_frame_end_the_worker() {
    let mut rig = Scripted::mirror().loaded();
    let socket: OwnedFd = rig.execution().as_fd().try_clone_to_owned().unwrap();
    UnixDatagram::from(socket).send(&[0, 0xff, 0xff, 0xff]).unwrap();
    assert!(rig.last_words().contains("malformed packet"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn an_empty_frame_ends_the_worker() {
    let mut rig = Scripted::mirror().loaded();
    rig.execution().send(&ExecutionToWorker { generation: GENERATION, message: None }, None).unwrap();
    assert!(rig.last_words().contains("an empty execution message"));
    let mut rig = Scripted::mirror().loaded();
    rig.control().send(&ControlToWorker { generation: GENERATION, message: None }, None).unwrap();
    assert!(rig.last_words().contains("an empty control message"));
}

#[test]
fn a_panic_becomes_last_words() {
    let mut rig = Scripted::executing(|_| panic!("no more {}", "patience")).loaded();
    rig.send(vec![Ask::new()], Layout::Adjacent);
    assert_eq!(rig.last_words(), "panicked in execute: no more patience");
    assert_eq!(rig.exit(), Exit::Panicked);

    let mut backend = Scripted::mirror();
    backend.load = Box::new(|_| panic!("corrupt"));
    let mut rig = Rig::start(backend);
    rig.order(control_to_worker::Message::Load(nereid_worker::proto::worker::Load { model: Some(model()) }));
    assert_eq!(rig.last_words(), "panicked in load: corrupt");
    assert_eq!(rig.exit(), Exit::Panicked);

    let mut backend = Scripted::mirror();
    backend.is_ready = Box::new(|()| panic!("unsure"));
    let mut rig = backend.loaded();
    rig.order(control_to_worker::Message::CheckReady(Default::default()));
    assert_eq!(rig.last_words(), "panicked in is_ready: unsure");
}

#[test]
fn a_stop_lets_all_batches_end_and_unloads() {
    let unloads = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&unloads);
    let mut backend = Scripted::executing(|batch| {
        let _ = batch.pause(Duration::from_millis(20));
        super::mirror(batch);
    });
    backend.unload = Box::new(move |()| {
        unloads.fetch_add(1, Ordering::Relaxed);
    });
    let mut rig = backend.loaded();
    let sent: Vec<_> =
        (0..3).map(|value| rig.send(vec![Ask::new().int32("A", &[1], &[value])], Layout::Adjacent)).collect();
    rig.order(control_to_worker::Message::Stop(Default::default()));
    for (value, sent) in (0..).zip(sent) {
        assert_eq!(rig.finish(sent).only(0).output("A").int32(), [value]);
    }
    assert_eq!(rig.exit(), Exit::Stopped);
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

#[test]
fn when_the_supervisor_goes_an_idle_worker_goes_too() {
    assert_eq!(Rig::start_silent(Scripted::mirror()).vanish(), Exit::SupervisorGone);
    assert_eq!(Scripted::mirror().loaded().vanish(), Exit::SupervisorGone);
}

#[test]
fn when_one_socket_closes_the_worker_goes() {
    assert_eq!(Scripted::mirror().loaded().close_control(), Exit::SupervisorGone);
    assert_eq!(Scripted::mirror().loaded().close_execution(), Exit::SupervisorGone);
}

#[test]
fn when_the_supervisor_goes_a_batch_that_waits_for_memory_ends() {
    let mut rig = Scripted::executing(|batch| {
        let error = batch.output(0, "A", DataType::Bool, &[1]).unwrap_err();
        assert_eq!(error.message, "the worker is about to exit");
        // And nothing else waits any more.
        assert!(batch.allocate(1).is_err() && batch.is_cancelled(0));
        assert_eq!(batch.pause(Duration::MAX), Pause::SupervisorGone);
    })
    .loaded();
    rig.send(vec![Ask::new()], Layout::Adjacent);
    let execution_to_supervisor::Message::NeedSegment(_) = rig.listen() else { panic!("no need") };
    assert_eq!(rig.vanish(), Exit::SupervisorGone);
}

#[test]
fn when_the_supervisor_goes_pauses_end() {
    let (begun, wait) = mpsc::sync_channel(1);
    let mut rig = Scripted::executing(move |batch| {
        begun.send(()).unwrap();
        assert_eq!(batch.pause(Duration::from_secs(600)), Pause::SupervisorGone);
    })
    .loaded();
    rig.send(vec![Ask::new()], Layout::Adjacent);
    wait.recv().unwrap();
    assert_eq!(rig.vanish(), Exit::SupervisorGone);

    let (begun, wait) = mpsc::sync_channel(1);
    let mut backend = Scripted::mirror();
    backend.load = Box::new(move |model| {
        begun.send(()).unwrap();
        assert_eq!(model.pause(Duration::from_secs(600)), Pause::SupervisorGone);
        Ok(())
    });
    let mut rig = Rig::start(backend);
    rig.order(control_to_worker::Message::Load(nereid_worker::proto::worker::Load { model: Some(model()) }));
    wait.recv().unwrap();
    assert_eq!(rig.vanish(), Exit::SupervisorGone);
}

/// Counts the waits of every test in the process, which is one test under nextest and several otherwise.
static WAITS: AtomicUsize = AtomicUsize::new(0);

struct Polite;

impl Backend for Polite {
    fn load(&mut self, _model: &ModelContext) -> Result<(), WorkerError> {
        Ok(())
    }

    fn execute(&mut self, batch: &mut Batch<'_>) {
        super::mirror(batch);
    }

    fn wait(block: &mut (dyn FnMut() + Send)) {
        WAITS.fetch_add(1, Ordering::Relaxed);
        block();
    }
}

#[test]
fn every_wait_goes_through_the_backends_hook() {
    let mut rig = Rig::start(Polite);
    rig.load(model()).unwrap();
    rig.send(vec![Ask::new().int32("A", &[1], &[1])], Layout::Adjacent);
    let execution_to_supervisor::Message::NeedSegment(_) = rig.listen() else { panic!("no need") };
    assert_eq!(rig.vanish(), Exit::SupervisorGone);
    assert!(WAITS.load(Ordering::Relaxed) >= 1);
}
