//! Instances that are loaded and kept out of the work.

use harness::faults::await_workers;
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;

/// More than the active instance can have at once, so that another would be asked if it could be.
const CLIENTS: usize = 8;

#[test]
fn a_passive_instance_is_loaded_and_gets_no_requests() {
    let repository = Repository::new();
    repository.add_python("quiet", 1, "time.sleep(0.02)\nreturn os.getpid()");
    repository.write(
        "quiet/config.pbtxt",
        "backend: \"python\"\nmax_batch_size: 8\n\
         input [{ name: \"INPUT0\" data_type: TYPE_FP32 dims: [ -1 ] }]\n\
         output [{ name: \"OUTPUT0\" data_type: TYPE_FP32 dims: [ -1 ] }]\n\
         instance_group [{ kind: KIND_CPU count: 1 }, { kind: KIND_CPU count: 1 passive: true }]",
    );
    let server = Server::start(repository);
    let workers = await_workers(&server, "quiet", 2);
    let active = workers.iter().find(|worker| worker.instance == "quiet_0_0").expect("the active instance");
    let answered = std::thread::scope(|scope| {
        let ask = || values_of(&echo(&mut server.client(), "quiet", &[1.0]).expect("an answer"));
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().map(|client| client.join().expect("it ran")).collect::<Vec<_>>()
    });
    assert_eq!(answered, vec![vec![f64::from(active.pid.as_raw())]; CLIENTS]);
}
