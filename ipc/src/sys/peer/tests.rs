use super::*;
use std::os::unix::net::UnixStream;

#[test]
fn this_process_is_no_descendant_of_its_own() {
    let (ours, _theirs) = UnixStream::pair().expect("a socket pair");
    assert!(!peer_is_descendant(&ours).expect("known"));
}

#[test]
fn the_parent_is_no_descendant_and_nobody_is_unknown() {
    assert!(!descends(std::os::unix::process::parent_id()));
    assert!(!descends(1));
    assert!(descends(u32::MAX), "unknown counts as yes");
}

#[test]
fn what_is_no_socket_is_an_error() {
    let file = fs::File::open("/proc/self/stat").expect("a file");
    assert!(peer_is_descendant(&file).is_err());
}
