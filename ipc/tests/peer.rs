//! A worker that connects to a socket of its supervisor's is known as such, and nobody else is.
#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

#[path = "support/roles.rs"]
mod roles;

use nereid_ipc::{Channel, sys::peer::peer_is_descendant};
use roles::{PATIENCE, Started, role, start};
use std::{
    env,
    os::unix::net::{UnixListener, UnixStream},
    thread,
    time::Instant,
};

const ENTRY: &str = "connects_if_started_as_another_process";

#[test]
fn connects_if_started_as_another_process() {
    let Some(path) = role() else { return };
    let _inherited = Channel::inherited().unwrap();
    let _connection = UnixStream::connect(path).unwrap();
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

    let Started { process, control: _control, execution: _execution } = start(ENTRY, path.to_str().unwrap());
    let (connection, _) = listener.accept().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(peer_is_descendant(&connection).unwrap());
    let id = process.id();
    drop(process);
    let begin = Instant::now();
    while nereid_ipc::sys::processes::one(id).is_ok() {
        assert!(begin.elapsed() < PATIENCE, "it does not end");
        thread::yield_now();
    }
    assert!(peer_is_descendant(&connection).unwrap(), "nobody knows who it was");
}
