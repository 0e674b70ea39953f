use super::{Identity, Level, Logger};
use nereid_ipc::Channel;
use nereid_proto::worker::{ControlToSupervisor, control_to_supervisor::Message};

#[test]
fn a_line_arrives_with_its_level_and_place() {
    let (worker, mut supervisor) = Channel::pair().unwrap();
    let logger = Logger::new(&worker, Identity::new(7)).unwrap();
    std::thread::spawn(move || logger.log(Level::Warning, "careful")).join().unwrap();
    let frame = supervisor.recv::<ControlToSupervisor>().unwrap().message;
    assert_eq!(frame.generation, 7);
    let Some(Message::Log(log)) = frame.message else { panic!("{frame:?}") };
    assert_eq!((log.level(), log.message.as_str()), (Level::Warning, "careful"));
    assert!(log.file.ends_with("log/tests.rs") && log.line > 0, "{log:?}");
}

#[test]
fn logging_to_a_supervisor_that_has_gone_is_harmless() {
    let (worker, supervisor) = Channel::pair().unwrap();
    drop(supervisor);
    Logger::new(&worker, Identity::new(1)).unwrap().log(Level::Error, "nobody reads this");
}
