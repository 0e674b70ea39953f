//! Workers that are started before a model needs them.

use harness::faults::{await_generation, await_workers, children, is_running};
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Tries to write to its own folder and to its neighbour's: 10 and 1 for what went well; and allocates MiB.
const WRITES: &str = "\
def write(path):
    try:
        open(path, 'w').close()
        return True
    except PermissionError:
        return False
if value > 1:
    taken = np.ones(int(value) << 17)
    time.sleep(60)
return 10.0 * write('mine') + write('../neighbour/written')
";
const ALLOWED: f64 = 10.0;

/// The server, and its folder for temporary files, which is another than the one that the repository lies in.
fn server() -> (Server, Repository) {
    let (repository, temporary) = (Repository::new(), Repository::new());
    repository.add_python("model", 1, WRITES);
    repository.set_parameter("model", "memory_limit_bytes", "268435456");
    repository.add_python("neighbour", 1, "return 0");
    let server = Server::builder(repository)
        .flag("--warm-pool=1")
        .flag("--log-verbose=1")
        .env("TMPDIR", &temporary.path().display().to_string())
        .start();
    (server, temporary)
}

/// The processes that have waited for a model so far, in the order in which they became ready to.
fn waiting(server: &Server) -> Vec<Pid> {
    let log = server.log();
    let lines = log.lines().filter(|line| line.contains("a worker waits for a model"));
    let pid = |line: &str| line.split("pid=").nth(1)?.split_whitespace().next()?.parse().ok();
    lines.filter_map(pid).map(Pid::from_raw).collect()
}

fn await_waiting(server: &Server, count: usize) -> Pid {
    wait::until_some(&format!("{count} workers have waited"), || waiting(server).get(count - 1).copied())
}

#[test]
fn a_worker_that_waited_takes_the_place_of_a_dead_one_with_all_that_binds_it() {
    let (server, _temporary) = server();
    let first = await_workers(&server, "model", 1).remove(0);
    let ahead = await_waiting(&server, 1);
    assert_eq!(children(server.pid()).len(), 3, "one in waiting for both models");
    first.signal(Signal::SIGKILL);
    let second = await_generation(&server, &first, 2);
    assert_eq!(second.pid, ahead);
    let response = echo(&mut server.client(), "model", &[1.0]).expect("an answer");
    assert_eq!(values_of(&response), [ALLOWED], "its own folder and no other");

    let next = await_waiting(&server, 2);
    let response = echo(&mut server.client(), "model", &[600.0]).expect("an answer");
    assert_eq!(response.status, 503);
    assert!(response.error().contains("limit of 268435456 bytes"), "{}", response.error());
    assert_eq!(await_generation(&server, &first, 3).pid, next);
}

#[test]
fn a_worker_that_dies_while_it_waits_is_replaced_and_none_outlives_the_server() {
    let (mut server, _temporary) = server();
    let worker = await_workers(&server, "model", 1).remove(0);
    let ahead = await_waiting(&server, 1);
    kill(ahead, Signal::SIGKILL).expect("it is there");
    let next = await_waiting(&server, 2);
    assert!(is_running(worker.pid) && is_running(next) && !is_running(ahead));
    server.signal(Signal::SIGTERM);
    assert!(server.wait().success());
    wait::until("nothing remains", || !is_running(next));
}
