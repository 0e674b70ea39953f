//! The server under test: started on free ports, asked from outside, and gone whatever happens to the test.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::http::{Client, Response};
use crate::ports::Ports;
use crate::repository::Repository;
use crate::wait;

/// The log's last lines that a failing test shows.
const LOG_LINES_SHOWN: usize = 60;

/// How to start a server.
#[derive(Debug)]
pub struct ServerBuilder {
    repository: Repository,
    flags: Vec<String>,
    environment: Vec<(String, String)>,
    group: Option<PathBuf>,
}

impl ServerBuilder {
    /// Starts it in this control group, alone.
    #[must_use]
    pub fn group(mut self, group: &Path) -> Self {
        self.group = Some(group.to_owned());
        self
    }

    /// One more flag of the command line.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// One more variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the server without waiting for anything.
    pub fn spawn(self) -> Server {
        let ports = Ports::reserve();
        let log = self.repository.path().with_extension("log");
        let child = self.command(&ports, &log).spawn().expect("the server starts");
        Server { child, ports, repository: self.repository, log, status: None }
    }

    /// Starts the server and waits until it is ready.
    pub fn start(self) -> Server {
        let mut server = self.spawn();
        wait::until("the server is ready", || {
            if let Some(status) = server.try_status() {
                panic!("the server ended before it was ready: {status}");
            }
            server.try_get("/v2/health/ready").is_some_and(|response| response.status == 200)
        });
        server
    }

    /// Starts the server and waits until it listens, ready or not.
    pub fn start_listening(self) -> Server {
        let mut server = self.spawn();
        wait::until("the server listens", || {
            if let Some(status) = server.try_status() {
                panic!("the server ended before it listened: {status}");
            }
            server.try_get("/v2/health/live").is_some()
        });
        server
    }

    #[expect(clippy::disallowed_methods, reason = "starts the server under test, which is no worker")]
    fn command(&self, ports: &Ports, log: &Path) -> Command {
        let output = File::create(log).expect("the folder for temporary files is writable");
        let mut command = match &self.group {
            None => Command::new(program("nereid")),
            Some(group) => {
                // It is a member before it is the server.
                let enter = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", group.display());
                let mut shell = Command::new("/bin/sh");
                shell.arg("-c").arg(enter).arg(program("nereid"));
                shell
            }
        };
        command
            .arg("serve")
            .arg(format!("--model-repository={}", self.repository.path().display()))
            .arg("--http-address=127.0.0.1")
            .arg("--grpc-address=127.0.0.1")
            .arg("--metrics-address=127.0.0.1")
            .arg(format!("--http-port={}", ports.http))
            .arg(format!("--grpc-port={}", ports.grpc))
            .arg(format!("--metrics-port={}", ports.metrics))
            .args(&self.flags)
            .env("PATH", path_with_venv())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file can be had twice"))
            .stderr(output);
        command
    }
}

/// A running server. Dropping it kills it and its workers.
#[derive(Debug)]
pub struct Server {
    child: Child,
    ports: Ports,
    repository: Repository,
    log: PathBuf,
    status: Option<ExitStatus>,
}

impl Server {
    /// A server for these models.
    pub fn builder(repository: Repository) -> ServerBuilder {
        ServerBuilder { repository, flags: Vec::new(), environment: Vec::new(), group: None }
    }

    /// Starts a server for these models and waits until it is ready.
    pub fn start(repository: Repository) -> Self {
        Self::builder(repository).start()
    }

    /// Its ports.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Its models' folder.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id is an i32"))
    }

    /// A new connection to its HTTP port.
    pub fn client(&self) -> Client {
        Client::connect(self.ports.http).expect("the server takes connections")
    }

    /// GET on a new connection.
    pub fn get(&self, path: &str) -> Response {
        self.client().get(path).expect("the server answers")
    }

    /// GET on a new connection; `None` when nobody answers.
    pub fn try_get(&self, path: &str) -> Option<Response> {
        Client::connect(self.ports.http).ok()?.get(path).ok()
    }

    /// The metrics, as text.
    pub fn metrics(&self) -> String {
        let mut client = Client::connect(self.ports.metrics).expect("the metrics port takes connections");
        client.get("/metrics").expect("the metrics port answers").text()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("the server is there");
    }

    /// Its exit status, when it has ended.
    pub fn try_status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("the server is our child");
        }
        self.status
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        wait::until_some("the server ends", || self.try_status())
    }

    /// What it has written to stdout and stderr.
    pub fn log(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
}

impl Drop for Server {
    #[expect(clippy::print_stderr, reason = "a failing test shows what the server said")]
    fn drop(&mut self) {
        let ended = self.try_status();
        if ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let shown = &lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..];
            let end = ended.map_or_else(
                || "running".to_owned(),
                |status| format!("exit code {:?}, signal {:?}", status.code(), status.signal()),
            );
            eprintln!("--- the server ({end}) said last:\n{}\n---", shown.join("\n"));
        }
        let _ = fs::remove_file(&self.log);
    }
}

/// PATH with the virtual environment of `scripts/test` first, where there is one: the workers find Python, numpy and
/// ONNX Runtime through it.
fn path_with_venv() -> OsString {
    let mut path = OsString::new();
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.cache/venv/bin");
    if venv.is_dir() {
        path.push(venv);
        path.push(":");
    }
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

/// A program of the build folder that this one lies in: `target/<profile>/`, and below it `deps/` for a test.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its own file");
    let mut folders = own.ancestors().skip(1).filter(|folder| !folder.ends_with("deps"));
    let folder = folders.next().expect("a program lies in target/<profile>");
    let path = folder.join(name);
    assert!(path.is_file(), "{} is missing: run 'cargo build --workspace' first", path.display());
    path
}
