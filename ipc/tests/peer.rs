//! A worker that connects to a socket of its supervisor's is known as such, and nobody else is.
#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

#[path = "support/roles.rs"]
mod roles;

use nereid_ipc::{Channel, sys::peer::peer_is_descendant};
use roles::{command, role};
use std::{
    env,
    os::unix::net::{UnixListener, UnixStream},
    thread,
};

const ENTRY: &str = "connects_if_started_as_another_process";
const SOCKET: &str = "NEREID_TEST_SOCKET";

#[test]
fn connects_if_started_as_another_process() {
    if role().is_none() {
        return;
    }
    let _inherited = Channel::inherited().unwrap();
    let _connection = UnixStream::connect(env::var_os(SOCKET).unwrap()).unwrap();
    loop {
        thread::park();
    }
}

#[test]
fn a_worker_is_a_descendant_whether_it_lives_or_not_and_this_process_is_none() {
    let path = env::temp_dir().join(format!("nereid-peer-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let own = UnixStream::connect(&path).unwrap();
    assert!(!peer_is_descendant(listener.accept().unwrap().0).unwrap());
    drop(own);

    let (_control, their_control) = Channel::pair().unwrap();
    let (_execution, their_execution) = Channel::pair().unwrap();
    let mut command = command(ENTRY, "caller");
    command.env(SOCKET, &path);
    let process = command.spawn(their_control.into_fd(), their_execution.into_fd()).unwrap();
    let (connection, _) = listener.accept().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(peer_is_descendant(&connection).unwrap());
    let id = process.id();
    drop(process);
    while nereid_ipc::sys::processes::one(id).is_ok() {
        thread::yield_now();
    }
    assert!(peer_is_descendant(&connection).unwrap(), "nobody knows who it was");
}
