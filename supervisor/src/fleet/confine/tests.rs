//! From parameters to what the kernel will be told.

use nereid_proto::inference::ModelParameter;

use super::*;

fn model(parameters: &[(&str, &str)]) -> ModelConfig {
    let parameters = parameters
        .iter()
        .map(|&(name, value)| (name.to_owned(), ModelParameter { string_value: value.to_owned() }));
    ModelConfig { name: "m".to_owned(), parameters: parameters.collect(), ..Default::default() }
}

fn program() -> Program {
    Program { path: "/usr/bin/env".into(), directory: "/etc".into(), ..Program::default() }
}

fn made(parameters: &[(&str, &str)]) -> Result<Confinement, ServeError> {
    confinement(Level::Standard, &model(parameters), &program())
}

#[test]
fn a_worker_may_write_to_its_model_and_to_the_temporary_files() {
    let made = made(&[]).unwrap();
    assert_eq!(made.level, Level::Standard);
    assert_eq!(made.writable, [PathBuf::from("/etc"), std::env::temp_dir()]);
    assert!(made.readable.is_empty(), "everything may be read");
}

#[test]
fn a_model_can_have_a_level_and_paths_of_its_own() {
    let made = made(&[("worker_sandbox", "strict"), ("sandbox_writable_paths", "/usr:/bin:")]).unwrap();
    assert_eq!(made.level, Level::Strict);
    assert_eq!(made.writable[..2], [PathBuf::from("/usr"), PathBuf::from("/bin")]);
    assert!(made.readable.contains(&PathBuf::from("/usr")), "{:?}", made.readable);
    assert!(!made.readable.contains(&PathBuf::from("/")), "{:?}", made.readable);
}

#[test]
fn paths_may_lie_in_the_models_own_folder() {
    let made = made(&[("sandbox_writable_paths", "$$TRITON_MODEL_DIRECTORY/passwd")]).unwrap();
    assert_eq!(made.writable[0], PathBuf::from("/etc/passwd"));
}

#[test]
fn what_is_off_needs_no_paths() {
    let made = made(&[("worker_sandbox", "off"), ("sandbox_writable_paths", "/usr")]).unwrap();
    assert_eq!(made, Confinement { level: Level::Off, ..Default::default() });
}

#[test]
fn a_level_that_is_none_and_paths_that_do_not_exist_are_refused_by_name() {
    let error = made(&[("worker_sandbox", "tight")]).unwrap_err();
    assert!(error.message.contains("'worker_sandbox' of model 'm' is 'tight'"), "{error}");
    let error = made(&[("sandbox_writable_paths", "/usr:/nowhere/at/all")]).unwrap_err();
    assert!(error.message.contains("'/nowhere/at/all', which does not exist"), "{error}");
    let error = made(&[("sandbox_readable_paths", "usr")]).unwrap_err();
    assert!(error.message.contains("'usr', which is not absolute"), "{error}");
}

#[test]
fn an_installation_is_found_from_its_program_and_through_a_link() {
    assert_eq!(installations(Path::new("/usr/bin/env"))[1], PathBuf::from("/usr"));
    assert!(installations(Path::new("/usr/bin/no-such-program")).is_empty());
}
