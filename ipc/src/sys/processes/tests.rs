use super::*;

#[test]
fn a_name_that_looks_like_the_rest_of_the_line_confuses_nobody() {
    let line = b"42 (a) R 1 (\n)) Z 7 42 42 0 -1 4228352 1 2 3 4 5 6 7 8 20 0 1 0 123456 8192 100 18446744073709551615";
    assert_eq!(parse(line), Some(Process { parent: 7, is_zombie: true, started: 123_456 }));
}

#[test]
fn a_line_that_is_cut_is_refused() {
    assert_eq!(parse(b"42 (a) R 1 2 3"), None);
    assert_eq!(parse(b"42 (a"), None);
    assert_eq!(parse(b""), None);
}

#[test]
fn this_process_is_there_with_its_parent_and_its_environment() {
    let all = all().expect("/proc");
    let own = all.get(&std::process::id()).expect("this process");
    assert_eq!(own.parent, std::os::unix::process::parent_id());
    assert!(!own.is_zombie);
    let path = variable(std::process::id(), "PATH").expect("readable").expect("set");
    assert_eq!(Some(path.as_slice()), std::env::var_os("PATH").as_ref().map(|path| path.as_bytes()));
    assert_eq!(variable(std::process::id(), "PAT").expect("readable"), None);
}

#[test]
fn a_process_is_found_by_a_pipe_that_it_holds() {
    use std::os::unix::fs::MetadataExt;
    let (reading, _writing) = nix::unistd::pipe().expect("a pipe");
    let inode = fs::File::from(reading.try_clone().expect("a copy")).metadata().expect("fstat").ino();
    assert!(holds(std::process::id(), &[1, inode]).expect("readable"));
    assert!(!holds(std::process::id(), &[u64::MAX]).expect("readable"));
}
