//! Models that reach for what is not theirs get an error, and nobody else notices. Models that do what models do get along.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use harness::faults::{Worker, await_workers, workers};
use harness::load::{echo, values_of};
use harness::repository::Repository;
use harness::server::Server;

const EPERM: f64 = 1.0;
const EACCES: f64 = 13.0;
const DONE: f64 = 0.0;

/// Tries one thing, by its number, and answers with the error's number. The process that it is after stands in a file.
const REACH: &str = "\
import ctypes, resource, socket
target = int(open('target').read())
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), 'system call')
def write(path, mode='a'):
    with open(path, mode) as file:
        file.write('x')
def seize_memory():
    with open(f'/proc/{target}/mem', 'rb') as file:
        file.seek(id(target))
        file.read(1)
attempts = {
    1: lambda: write('../escaped'),
    2: lambda: write('../other/config.pbtxt'),
    3: lambda: os.mkdir('../new_model'),
    4: lambda: os.remove('../other/config.pbtxt'),
    5: lambda: socket.socket().listen(),
    6: lambda: socket.socket().bind(('127.0.0.1', 0)),
    7: lambda: os.kill(target, signal.SIGKILL),
    8: lambda: call('ptrace', 16, target, 0, 0),
    9: seize_memory,
    10: lambda: open(f'/proc/{target}/fd/3', 'rb').close(),
    11: lambda: resource.prlimit(target, resource.RLIMIT_NOFILE, (0, 0)),
    12: lambda: call('process_vm_readv', target, 0, 0, 0, 0, 0),
    13: lambda: call('syscall', 438, os.pidfd_open(target), 0, 0),
    14: lambda: call('mount', 0, b'/', 0, 0, 0),
    15: lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    16: lambda: open('../other/config.pbtxt').close(),
    17: lambda: write('mine'),
    18: lambda: write('/dev/shm/nereid-sandbox-test'),
    19: lambda: os.remove('/dev/shm/nereid-sandbox-test'),
    20: lambda: write('/proc/self/comm', 'w'),
    21: lambda: write('/dev/null'),
    22: lambda: os.mknod('/dev/shm/../nereid-sandbox-test', 0o600),
    23: lambda: socket.socket(socket.AF_UNIX).close(),
    24: lambda: write(f'/proc/{target}/oom_score_adj'),
}
try:
    attempts[int(value)]()
    return 0
except OSError as error:
    return error.errno
";

/// What every level but `off` refuses: the attempt, its error, the version of Landlock that it takes.
const REFUSED: &[(u8, f64, u32, &str)] = &[
    (1, EACCES, 1, "a file in the repository"),
    (2, EACCES, 1, "another model's configuration"),
    (3, EACCES, 1, "a new model"),
    (4, EACCES, 1, "another model's end"),
    (5, EPERM, 0, "listening"),
    (7, EPERM, 6, "a signal"),
    (8, EPERM, 0, "ptrace"),
    (9, EACCES, 1, "another's memory"),
    (10, EACCES, 1, "another's fds"),
    (11, EPERM, 0, "another's limits"),
    (12, EPERM, 0, "process_vm_readv"),
    (13, EPERM, 0, "pidfd_getfd"),
    (14, EPERM, 0, "mount"),
    (22, EACCES, 1, "a new device"),
    (24, EACCES, 1, "another's chances in a shortage of memory"),
];

/// What they allow.
const ALLOWED: &[(u8, &str)] = &[
    (17, "a file in its own folder"),
    (18, "shared memory"),
    (19, "its removal"),
    (20, "its own name"),
    (21, "a device"),
    (23, "a Unix socket"),
];

/// A server with a model that reaches out and another that has to bear it. The folder for temporary files is another than
/// the one that the repository lies in.
struct Scene {
    server: Server,
    victim: Worker,
    /// The version that this machine has; 0 for none.
    landlock: u32,
    _temporary: Repository,
}

impl Scene {
    fn new(level: &str) -> Self {
        let repository = Repository::new();
        let temporary = Repository::new();
        repository.add_python("reach", 1, REACH);
        repository.set_parameter("reach", "worker_sandbox", level);
        repository.add_echo("other", 1, "");
        let server =
            Server::builder(repository).env("TMPDIR", &temporary.path().display().to_string()).start();
        let victim = await_workers(&server, "other", 1).remove(0);
        await_workers(&server, "reach", 1);
        let log = server.log();
        let version = log
            .split("isolation: Landlock: ABI ")
            .nth(1)
            .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        let landlock = version.map_or(0, |version| version.parse().expect("a number"));
        Self { server, victim, landlock, _temporary: temporary }
    }

    fn target(&self, pid: nix::unistd::Pid) {
        self.server.repository().write("reach/target", pid.to_string());
    }

    fn attempt(&self, number: u8) -> f64 {
        let response = echo(&mut self.server.client(), "reach", &[number.into()]).expect("an answer");
        assert_eq!(response.status, 200, "{}", response.text());
        values_of(&response)[0]
    }

    fn refuses_and_allows(&self) {
        // The sibling comes first: whoever kills the server has no second try.
        for target in [self.victim.pid, self.server.pid()] {
            self.target(target);
            for &(number, errno, _, what) in REFUSED.iter().filter(|attempt| attempt.2 <= self.landlock) {
                assert_eq!(self.attempt(number), errno, "{what} of {target}");
            }
        }
        for &(number, what) in ALLOWED {
            assert_eq!(self.attempt(number), DONE, "{what}");
        }
    }

    fn is_unharmed(&self) {
        let answer = echo(&mut self.server.client(), "other", &[3.0]).expect("an answer");
        assert_eq!(values_of(&answer), [3.0]);
        assert_eq!(workers(&self.server, "other"), std::slice::from_ref(&self.victim));
        let repository = self.server.repository().path();
        assert!(!repository.join("escaped").exists() && !repository.join("new_model").exists());
        assert!(!Path::new("/dev/nereid-sandbox-test").exists());
    }
}

#[test]
fn a_model_that_reaches_for_others_gets_errors_and_harms_nobody() {
    let scene = Scene::new("standard");
    scene.refuses_and_allows();
    if scene.landlock >= 4 {
        assert_eq!(scene.attempt(6), EACCES, "a port");
    }
    assert_eq!(scene.attempt(15), DONE, "a socket of the network");
    assert_eq!(scene.attempt(16), DONE, "reading");
    scene.is_unharmed();
}

#[test]
fn a_strictly_confined_model_has_no_network_and_reads_nothing_of_others() {
    let scene = Scene::new("strict");
    scene.refuses_and_allows();
    assert_eq!(scene.attempt(15), EPERM, "a socket of the network");
    if scene.landlock >= 1 {
        assert_eq!(scene.attempt(16), EACCES, "reading");
    }
    scene.is_unharmed();
}

#[test]
fn a_model_whose_sandbox_is_off_may_do_what_the_server_may() {
    let scene = Scene::new("off");
    scene.target(scene.victim.pid);
    assert_eq!(scene.attempt(1), DONE);
    assert_eq!(scene.attempt(5), DONE);
    assert!(scene.server.repository().path().join("escaped").exists());
}

/// What models do every day; answers with 7 times 6 if all of it works.
const EVERYDAY: &str = "\
import multiprocessing, subprocess, tempfile, threading
from multiprocessing import shared_memory
with tempfile.NamedTemporaryFile() as file:
    np.save(file, np.arange(7))
    file.flush()
    count = len(np.load(file.name))
process = multiprocessing.get_context('fork')
ours, theirs = process.Pipe()
def square(connection):
    connection.send(connection.recv() ** 2)
child = process.Process(target=square, args=(theirs,))
child.start()
ours.send(2)
squared = ours.recv()
child.join()
with process.Pool(2) as pool:
    total = sum(pool.map(abs, [-1, 0]))
block = shared_memory.SharedMemory(create=True, size=64)
block.close()
block.unlink()
found = []
thread = threading.Thread(target=lambda: found.append(1))
thread.start()
thread.join()
program = subprocess.run(['/bin/echo', 'here'], capture_output=True, text=True, check=True).stdout
child_end = subprocess.Popen(['/bin/sleep', '1000'])
child_end.kill()
ended = child_end.wait()
assert (squared, total, found, program, ended) == (4, 1, [1], 'here\\n', -9)
return float(count * 6)
";

#[test]
fn confined_models_do_what_models_do_every_day() {
    for level in ["standard", "strict"] {
        let repository = Repository::new();
        repository.add_python("everyday", 1, EVERYDAY);
        repository.add_sample("add_sub_onnx");
        let server = Server::builder(repository).flag(format!("--worker-sandbox={level}")).start();
        let response = echo(&mut server.client(), "everyday", &[1.0]).expect("an answer");
        assert_eq!(response.status, 200, "{level}: {}", response.text());
        assert_eq!(values_of(&response), [42.0]);
        assert_eq!(server.get("/v2/models/add_sub_onnx/ready").status, 200);
        assert!(server.log().contains("isolation: "), "the log says what this machine offers");
    }
}

/// An archive with an environment whose interpreter is the one that is used anyway.
#[expect(clippy::disallowed_methods, reason = "packs a file for the test")]
fn pack_environment(repository: &Repository, model: &str) {
    let folder = Repository::new();
    folder.write("bin/python3", "#!/bin/sh\nPATH=${PATH#*:} exec python3 \"$@\"\n");
    fs::set_permissions(folder.path().join("bin/python3"), Permissions::from_mode(0o755)).expect("ours");
    let archive = repository.path().join(model).join("environment.tar.gz");
    let packed =
        Command::new("tar").arg("-C").arg(folder.path()).arg("-czf").arg(archive).arg("bin").status();
    assert!(packed.expect("tar is installed").success());
}

#[test]
fn a_confined_worker_unpacks_its_environment_and_goes_on_in_it() {
    for level in ["standard", "strict"] {
        let (repository, cache, temporary) = (Repository::new(), Repository::new(), Repository::new());
        repository.add_python("packed", 1, "return float('/environments/' in os.environ['VIRTUAL_ENV'])");
        repository.set_parameter(
            "packed",
            "EXECUTION_ENV_PATH",
            "$$TRITON_MODEL_DIRECTORY/environment.tar.gz",
        );
        pack_environment(&repository, "packed");
        let server = Server::builder(repository)
            .env("XDG_CACHE_HOME", &cache.path().display().to_string())
            .env("TMPDIR", &temporary.path().display().to_string())
            .flag(format!("--worker-sandbox={level}"))
            .start();
        let response = echo(&mut server.client(), "packed", &[1.0]).expect("an answer");
        assert_eq!(response.status, 200, "{level}: {}", response.text());
        assert_eq!(values_of(&response), [1.0]);
    }
}

#[test]
fn a_model_can_be_given_more_folders_and_a_level_that_is_none_fails_it() {
    let repository = Repository::new();
    let temporary = Repository::new();
    let further = Repository::new();
    let place = further.path().display().to_string();
    repository.add_python(
        "writer",
        1,
        &format!("with open('{place}/result', 'w') as file:\n    file.write('42')\nreturn 42"),
    );
    repository.set_parameter("writer", "sandbox_writable_paths", &place);
    repository.add_echo("wrong", 1, "");
    repository.set_parameter("wrong", "worker_sandbox", "loose");
    let server = Server::builder(repository)
        .env("TMPDIR", &temporary.path().display().to_string())
        .flag("--strict-readiness=false")
        .start();
    let response = echo(&mut server.client(), "writer", &[1.0]).expect("an answer");
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(server.log().contains("'worker_sandbox' of model 'wrong' is 'loose'"), "{}", server.log());
}
