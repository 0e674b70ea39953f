//! Models that use more memory than they may. Where the kernel keeps the limit, it is quicker; what is seen is the same. And
//! models that load while others work.

use harness::faults::{await_generation, await_workers, children, is_running, workers};
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;
use harness::wait;
use nix::unistd::Pid;

/// Bytes. An interpreter with numpy needs a fifth of it.
const LIMIT: &str = "268435456";

/// Takes as many MiB as it is told: negative ones by a process that it starts, whose number it writes down.
const TAKE: &str = "\
def take(size):
    taken = np.ones(int(size) << 17)
    time.sleep(60)
if value > 0:
    take(value)
elif value < 0:
    child = os.fork()
    if child == 0:
        take(-value)
        os._exit(0)
    with open('child', 'w') as file:
        file.write(str(child))
    os.waitpid(child, 0)
return value
";

fn server() -> Server {
    let repository = Repository::new();
    repository.add_python("greedy", 1, TAKE);
    repository.set_parameter("greedy", "memory_limit_bytes", LIMIT);
    repository.add_echo("other", 1, "");
    Server::start(repository)
}

fn costs_the_request_and_names_the_limit(server: &Server, megabytes: f64) {
    let other = await_workers(server, "other", 1);
    let worker = await_workers(server, "greedy", 1).remove(0);
    let response = echo(&mut server.client(), "greedy", &[megabytes]).expect("an answer");
    assert_eq!(response.status, 503, "{}", response.text());
    let error = response.error();
    for part in ["greedy", &worker.instance, "memory", LIMIT] {
        assert!(error.contains(part), "{part} is not named: {error}");
    }
    await_generation(server, &worker, worker.generation + 1);
    let response = echo(&mut server.client(), "greedy", &[0.0]).expect("an answer");
    assert_eq!(values_of(&response), [0.0]);
    assert_eq!(workers(server, "other"), other);
}

#[test]
fn a_worker_that_uses_more_than_its_limit_costs_its_request_and_the_limit_is_named() {
    let server = server();
    costs_the_request_and_names_the_limit(&server, 600.0);
    let log = server.log();
    let says_how = ["every 100 ms", "the kernel keeps memory limits"].iter().any(|way| log.contains(way));
    assert!(says_how, "nothing says how limits are kept: {log}");
}

#[test]
fn what_a_worker_has_started_counts_for_its_limit_and_ends_with_it() {
    let server = server();
    costs_the_request_and_names_the_limit(&server, -600.0);
    let child = std::fs::read_to_string(server.repository().path().join("greedy/child")).expect("written");
    let child = Pid::from_raw(child.parse().expect("a number"));
    wait::until("the child is gone", || !is_running(child));
}

#[test]
fn a_limit_that_is_none_fails_its_model_by_name() {
    let repository = Repository::new();
    repository.add_echo("wrong", 1, "");
    repository.set_parameter("wrong", "memory_limit_bytes", "much");
    let server = Server::builder(repository).flag("--strict-readiness=false").start();
    assert!(server.log().contains("'memory_limit_bytes' of model 'wrong' is 'much'"), "{}", server.log());
}

/// The niceness of each thread of a process.
fn niceness(pid: Pid) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it is there").flatten();
    let stats = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    let nice = |stat: String| stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok();
    stats.filter_map(nice).collect()
}

/// Whether the server could undo what it does to a priority.
fn may_restore() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("a line");
    u64::from_str_radix(effective.trim(), 16).expect("a number") & 1 << 23 != 0
}

#[test]
fn a_worker_yields_to_others_while_it_loads_and_not_when_it_is_ready() {
    let repository = Repository::new();
    repository.add_python_source(
        "slow",
        1,
        "import os, threading, time\n\
         class TritonPythonModel:\n\
         \u{20}   def initialize(self, args):\n\
         \u{20}       self.thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)\n\
         \u{20}       self.thread.start()\n\
         \u{20}       open('loading', 'w').close()\n\
         \u{20}       while not os.path.exists('go'):\n\
         \u{20}           time.sleep(0.01)\n\
         \u{20}   def execute(self, requests):\n\
         \u{20}       return []\n",
    );
    let server = Server::builder(repository).start_listening();
    let folder = server.repository().path().join("slow");
    wait::until("the model loads", || folder.join("loading").exists());
    let worker = children(server.pid()).remove(0);
    let expected = if may_restore() { 10 } else { 0 };
    let loading = niceness(worker);
    assert!(loading.len() >= 2 && loading.iter().all(|&nice| nice == expected), "{loading:?}");
    std::fs::write(folder.join("go"), "").expect("writable");
    await_workers(&server, "slow", 1);
    let ready = niceness(worker);
    assert!(ready.iter().all(|&nice| nice == 0), "{ready:?}");
}
