//! A server that has been given a part of the tree of control groups. Where a test cannot make such a part, there is nothing to
//! see, and it says so.

use std::fs;
use std::path::{Path, PathBuf};

use harness::faults::{await_generation, await_workers, is_running};
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::{Server, ServerBuilder};
use harness::wait;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// Answers with the process id of a daemon that has thrown away all by which it could be known: session, environment, fds.
const DAEMON: &str = "\
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, str(os.getpid()).encode())
        os.closerange(0, 1000)
        os.execve('/bin/sleep', ['sleep', '1000'], {})
    os._exit(0)
os.wait()
return float(os.read(reading, 16))
";

/// A group of this test's own, removed with all that is below it.
struct Tree(PathBuf);

impl Tree {
    #[expect(clippy::print_stderr, reason = "a test that shows nothing says so")]
    fn new(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?.split(' ').nth(4)?;
        let path = Path::new(mount).join(format!("nereid-test-{name}-{}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => Some(Self(path)),
            Err(error) => {
                eprintln!("skipped: no control group can be made here: {error}");
                None
            }
        }
    }

    fn groups(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("ours").flatten().filter(|entry| entry.path().is_dir());
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn server(&self) -> ServerBuilder {
        let repository = Repository::new();
        repository.add_python("parent", 1, DAEMON);
        repository.add_echo("elder", 1, "");
        Server::builder(repository).group(&self.0)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        wait::until("the test's groups are removed", || {
            for group in self.groups() {
                let _ = fs::remove_dir(self.0.join(group));
            }
            fs::remove_dir(&self.0).is_ok()
        });
    }
}

fn daemon(server: &Server) -> Pid {
    let response = echo(&mut server.client(), "parent", &[1.0]).expect("an answer");
    assert_eq!(response.status, 200, "{}", response.text());
    #[expect(clippy::cast_possible_truncation, reason = "a process id is an i32")]
    Pid::from_raw(values_of(&response)[0] as i32)
}

fn group_of(pid: Pid) -> String {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("it is there");
    groups.lines().find_map(|line| line.strip_prefix("0::")).expect("version 2").to_owned()
}

#[test]
fn each_worker_has_a_group_that_takes_all_of_it_along() {
    let Some(tree) = Tree::new("worker") else { return };
    let mut server = tree.server().start();
    assert!(group_of(server.pid()).ends_with("/supervisor"), "{}", group_of(server.pid()));
    assert!(server.log().contains("cgroup v2: a group for each worker"), "{}", server.log());
    let worker = await_workers(&server, "parent", 1).remove(0);
    let elder = await_workers(&server, "elder", 1).remove(0);
    assert_ne!(group_of(worker.pid), group_of(elder.pid));
    let left = daemon(&server);
    assert_eq!(group_of(left), group_of(worker.pid));

    worker.signal(Signal::SIGKILL);
    await_generation(&server, &worker, 2);
    wait::until("the daemon is gone", || !is_running(left));
    assert!(is_running(elder.pid));
    server.signal(Signal::SIGTERM);
    assert!(server.wait().success());
    let groups = tree.groups();
    assert!(groups.len() <= 2 && groups.contains(&"supervisor".to_owned()), "{groups:?}");
}

#[test]
fn what_a_killed_server_has_left_ends_when_the_next_one_starts() {
    let Some(tree) = Tree::new("stale") else { return };
    let mut first = tree.server().start();
    let left = daemon(&first);
    first.signal(Signal::SIGKILL);
    first.wait();
    assert!(is_running(left), "nobody could have known");
    let second = tree.server().start();
    wait::until("the daemon is gone", || !is_running(left));
    assert!(second.log().contains("killing what is left in"), "{}", second.log());
}
