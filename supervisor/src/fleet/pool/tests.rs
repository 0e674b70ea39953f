//! Which programs can be started before it is known what for.

use super::*;

fn program(level: Level, writable: &[&Path]) -> Program {
    let writable = writable.iter().map(|&path| path.to_owned()).collect();
    Program {
        path: "/usr/bin/python3".into(),
        directory: "/usr/share".into(),
        confinement: Confinement { level, writable, readable: Vec::new() },
        memory_limit: Some(1),
        is_slow_to_start: true,
        ..Program::default()
    }
}

fn in_repositories(program: &Program) -> Option<Program> {
    general(program, &["/usr/share".into(), "/tmp".into()])
}

#[test]
fn models_of_one_environment_share_their_workers() {
    let one =
        in_repositories(&program(Level::Standard, &[Path::new("/usr/share"), Path::new("/tmp")])).unwrap();
    let other = Program { directory: "/usr/lib".into(), ..program(Level::Standard, &[Path::new("/tmp")]) };
    assert_eq!(in_repositories(&other).as_ref(), Some(&one));
    assert_eq!(one.directory, Path::new("/"));
    assert_eq!(one.memory_limit, None);
    assert_eq!(one.confinement.writable, [PathBuf::from("/usr/share"), PathBuf::from("/tmp")]);
}

#[test]
fn other_interpreters_environments_and_levels_have_their_own() {
    let one = in_repositories(&program(Level::Standard, &[])).unwrap();
    let mut another = program(Level::Standard, &[]);
    another.path = "/opt/bin/python3".into();
    assert_ne!(in_repositories(&another), Some(one.clone()));
    let mut another = program(Level::Standard, &[]);
    another.env.push(("NEREID_EXECUTION_ENV".into(), "/a.tar".into()));
    assert_ne!(in_repositories(&another), Some(one.clone()));
    assert_ne!(in_repositories(&program(Level::Off, &[])), Some(one));
}

#[test]
fn who_may_write_elsewhere_or_read_little_is_started_when_it_is_needed() {
    assert_eq!(
        in_repositories(&program(Level::Standard, &[Path::new("/usr/share"), Path::new("/var")])),
        None
    );
    assert_eq!(in_repositories(&program(Level::Strict, &[])), None);
    assert!(in_repositories(&program(Level::Off, &[])).is_some());
}

#[test]
fn what_starts_in_no_time_is_not_started_ahead() {
    let quick = Program { is_slow_to_start: false, ..program(Level::Standard, &[]) };
    assert_eq!(in_repositories(&quick), None);
}
