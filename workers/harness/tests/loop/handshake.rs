use super::{Scripted, model};
use nereid_worker::{
    Description, ErrorCode, Exit, Level, WorkerError,
    proto::worker::{
        Hello, Nothing, TensorFact, TensorFacts, control_to_supervisor as reply, control_to_worker as order,
        description::Proposal,
    },
    rig::{Ask, Rig},
};

fn hello(protocol_min: u32, protocol_max: u32) -> order::Message {
    order::Message::Hello(Hello { protocol_min, protocol_max, ..Hello::default() })
}

#[test]
fn the_newest_common_version_is_chosen_and_the_worker_names_itself() {
    let mut rig = Rig::start_silent(Scripted::mirror());
    rig.order(hello(0, 9));
    let reply::Message::Hello(told) = rig.reply() else { panic!("no HelloReply") };
    assert_eq!((told.protocol, told.kind.as_str(), told.runtime.as_str()), (1, "test", "a thread"));
    assert_eq!(rig.stop(), Exit::Stopped);
}

#[test]
fn without_a_common_version_the_worker_says_so_and_leaves() {
    let mut rig = Rig::start_silent(Scripted::mirror());
    rig.order(hello(2, 9));
    let reply::Message::Hello(told) = rig.reply() else { panic!("no HelloReply") };
    assert_eq!(told.protocol, 0);
    assert_eq!(rig.exit(), Exit::NoCommonProtocol);
}

#[test]
fn anything_before_hello_is_an_error() {
    let mut rig = Rig::start_silent(Scripted::mirror());
    rig.order(order::Message::Stop(Default::default()));
    assert!(rig.last_words().contains("before Hello"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn a_second_hello_is_an_error() {
    let mut rig = Rig::start(Scripted::mirror());
    rig.order(hello(1, 1));
    assert_eq!(rig.last_words(), "the supervisor broke the protocol: a second Hello");
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn a_description_is_passed_on() {
    let mut backend = Scripted::mirror();
    backend.describe = |model| {
        assert_eq!(model.version_directory(), std::path::Path::new("/models/m/3"));
        let shape = vec![-1, 4];
        let fact = TensorFact { name: "X".to_owned(), data_type: 11, shape };
        Ok(Description::Facts(TensorFacts { inputs: vec![fact], outputs: vec![] }))
    };
    let mut rig = Rig::start(backend);
    let reply::Message::Description(told) = rig.describe(model()) else { panic!("no description") };
    let Some(Proposal::Facts(facts)) = told.proposal else { panic!("{told:?}") };
    assert_eq!(facts.inputs[0].shape, [-1, 4]);
    rig.load(model()).unwrap();
}

#[test]
fn a_failed_description_does_not_prevent_a_load() {
    let mut rig = Rig::start(Scripted::mirror());
    let reply::Message::Failed(failure) = rig.describe(model()) else { panic!("no failure") };
    assert_eq!((failure.code(), failure.message.as_str()), (ErrorCode::Unsupported, "tells nothing"));
    rig.load(model()).unwrap();
    assert_eq!(rig.stop(), Exit::Stopped);
}

#[test]
fn a_second_describe_is_an_error() {
    let mut backend = Scripted::mirror();
    backend.describe = |_| Ok(Description::Nothing(Nothing {}));
    let mut rig = Rig::start(backend);
    let reply::Message::Description(_) = rig.describe(model()) else { panic!("no description") };
    let reply::Message::LastWords(words) = rig.describe(model()) else { panic!("no last words") };
    assert!(words.message.contains("a Describe after another"), "{words:?}");
}

#[test]
fn the_backend_learns_all_about_its_model_and_can_log_while_loading() {
    let mut backend = Scripted::mirror();
    backend.load = Box::new(|model| {
        assert_eq!((model.name(), model.version(), model.instance_name()), ("m", 3, "m_0_0"));
        assert_eq!((model.parameter("speed"), model.parameter("colour")), (Some("fast"), None));
        assert!(model.is_batched());
        model.logger().log(Level::Info, "loading");
        Ok(())
    });
    let mut rig = Rig::start(backend);
    rig.load(model()).unwrap();
    assert_eq!(rig.logs.len(), 1);
    assert_eq!((rig.logs[0].level(), rig.logs[0].message.as_str()), (Level::Info, "loading"));
}

#[test]
fn a_worker_whose_load_failed_says_why_and_waits_for_its_stop() {
    let mut backend = Scripted::executing(|_| panic!("nothing was loaded"));
    backend.load = Box::new(|_| Err(WorkerError::not_found("no weights")));
    backend.unload = Box::new(|()| panic!("nothing was loaded"));
    let mut rig = Rig::start(backend);
    let failure = rig.load(model()).unwrap_err();
    assert_eq!((failure.code(), failure.message.as_str()), (ErrorCode::NotFound, "no weights"));
    let outcome = rig.execute(vec![Ask::new()]);
    assert_eq!(outcome.only(0).error(), "the model is not loaded in this worker");
    assert_eq!(rig.ping(9).nonce, 9);
    assert_eq!(rig.stop(), Exit::Stopped);
}

#[test]
fn a_second_load_is_an_error() {
    let mut rig = Scripted::mirror().loaded();
    rig.order(order::Message::Load(Default::default()));
    assert!(rig.last_words().contains("a second Load"));
    assert_eq!(rig.exit(), Exit::BrokenProtocol);
}

#[test]
fn readiness_is_the_models_own() {
    let mut checks = 0;
    let mut backend = Scripted::mirror();
    backend.is_ready = Box::new(move |()| {
        checks += 1;
        if checks == 1 { Ok(()) } else { Err(WorkerError::unavailable("tired")) }
    });
    let mut rig = Rig::start(backend);
    let before = rig.check_ready();
    assert_eq!((before.ready, before.code()), (false, ErrorCode::Unavailable));
    rig.load(model()).unwrap();
    assert!(rig.check_ready().ready);
    let after = rig.check_ready();
    assert_eq!((after.ready, after.nonce, after.message.as_str()), (false, 5, "tired"));
}

#[test]
fn a_pong_counts_batches() {
    let mut rig = Scripted::mirror().loaded();
    assert_eq!(rig.ping(1).batches_begun, 0);
    rig.execute(vec![Ask::new().int32("A", &[1], &[1])]);
    rig.execute(vec![Ask::new().int32("A", &[1], &[1])]);
    let pong = rig.ping(2);
    assert_eq!((pong.nonce, pong.batches_begun, pong.batches_ended), (2, 2, 2));
}
