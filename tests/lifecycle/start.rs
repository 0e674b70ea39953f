//! The command line and the start: wrong flags, taken ports, an empty repository, the other name.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use harness::faults::{children, is_running};
use harness::load::echo;
use harness::ports::Ports;
use harness::repository::Repository;
use harness::server::{Server, program};
use harness::wait;
use nix::sys::signal::Signal;

#[expect(clippy::disallowed_methods, reason = "runs the server under test to its end")]
fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(name).args(arguments).output().expect("the program runs")
}

fn server_path() -> String {
    program("nereid").display().to_string()
}

#[test]
fn a_server_without_models_is_ready() {
    let server = Server::start(Repository::new());
    assert_eq!(server.get("/v2/health/ready").status, 200);
    assert_eq!(server.get("/v2/models/any").status, 404);
}

#[test]
fn a_wrong_flag_is_named_and_the_exit_code_is_1() {
    for flag in ["--no-such-flag=1", "--http-port=many"] {
        let output = run(&server_path(), &["serve", "--model-repository=.", flag]);
        assert_eq!(output.status.code(), Some(1), "{flag}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(flag.split('=').next().unwrap_or(flag)), "{error}");
    }
}

#[test]
fn a_repository_that_is_not_there_is_an_error() {
    let ports = Ports::reserve();
    let flags = [format!("--http-port={}", ports.http), format!("--grpc-port={}", ports.grpc)];
    let output = run(
        &server_path(),
        &["serve", "--model-repository=/no/such/folder", &flags[0], &flags[1], "--allow-metrics=false"],
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let repository = Repository::new();
    let ports = Ports::reserve();
    let _taken = TcpListener::bind(("127.0.0.1", ports.http)).expect("the port is ours");
    let arguments = [
        "serve".to_owned(),
        format!("--model-repository={}", repository.path().display()),
        "--http-address=127.0.0.1".to_owned(),
        format!("--http-port={}", ports.http),
        format!("--grpc-port={}", ports.grpc),
        format!("--metrics-port={}", ports.metrics),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = run(&server_path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let said = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8_lossy(&said).contains(&ports.http.to_string()));
}

#[test]
fn invoked_as_tritonserver_it_needs_no_subcommand() {
    let folder = Repository::new();
    let link = folder.path().join("tritonserver");
    symlink(program("nereid"), &link).expect("a link can be made");
    let output = run(&link.display().to_string(), &["--no-such-flag"]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("--no-such-flag"), "{error}");
    assert!(fs::symlink_metadata(&link).is_ok());
}

#[test]
fn the_id_flag_names_the_server() {
    let server = Server::builder(Repository::new()).flag("--id=lucy").start();
    assert_eq!(server.get("/v2").json()["name"], "lucy");
}

/// A configuration line for an echo model that takes this long to load.
fn slow_load(milliseconds: u32) -> String {
    format!("parameters {{ key: \"load_fault\" value {{ string_value: \"delay:{milliseconds}\" }} }}")
}

#[test]
fn while_models_load_the_server_is_live_and_not_ready_and_serves_those_that_are() {
    let repository = Repository::new();
    repository.add_echo("quick", 1, "");
    repository.add_echo("slow", 1, &slow_load(2000));
    let server = Server::builder(repository).start_listening();
    wait::until("the quick model is ready", || server.get("/v2/models/quick/ready").status == 200);
    assert_eq!(server.get("/v2/health/live").status, 200);
    assert_eq!(server.get("/v2/health/ready").status, 400);
    assert_ne!(server.get("/v2/models/slow/ready").status, 200);
    assert_eq!(echo(&mut server.client(), "quick", &[1.0]).expect("an answer").status, 200);
    wait::until("the server is ready", || server.get("/v2/health/ready").status == 200);
    assert_eq!(echo(&mut server.client(), "slow", &[1.0]).expect("an answer").status, 200);
}

#[test]
fn models_load_side_by_side() {
    let repository = Repository::new();
    for number in 0..4 {
        repository.add_echo(&format!("slow{number}"), 1, &slow_load(1000));
    }
    let begun = Instant::now();
    let _server = Server::start(repository);
    assert!(begun.elapsed() < Duration::from_millis(3500), "one after the other: {:?}", begun.elapsed());
}

#[test]
fn sigterm_while_models_load_ends_the_server_and_leaves_no_worker() {
    let repository = Repository::new();
    repository.add_echo("slow", 2, &slow_load(60_000));
    let mut server = Server::builder(repository).start_listening();
    let workers = wait::until_some("the workers have been started", || {
        Some(children(server.pid())).filter(|workers| workers.len() == 2)
    });
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait().code(), Some(0));
    wait::until("the workers are gone", || !workers.iter().any(|&worker| is_running(worker)));
}

#[test]
fn exit_on_error_ends_the_start_when_a_model_is_broken() {
    let repository = Repository::new();
    repository.add_echo("good", 1, "");
    repository.add("bad", "max_batch_size: }");
    let mut server = Server::builder(repository).flag("--exit-on-error=true").spawn();
    assert_eq!(server.wait().code(), Some(1));
}
