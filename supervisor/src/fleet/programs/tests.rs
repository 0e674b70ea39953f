//! Which program a configuration leads to.

use nereid_proto::inference::ModelParameter;

use super::*;

fn programs(directory: &Path) -> Programs {
    Programs {
        directory: directory.to_owned(),
        python_package: "/package".into(),
        python_extension: "/package/x.so".into(),
        python: "/usr/bin/python3".into(),
        onnxruntime: Some("/lib/onnx.so".into()),
        sandbox: Level::Standard,
        memory_limit: None,
    }
}

fn config(backend: &str) -> ModelConfig {
    ModelConfig { name: "m".into(), backend: backend.into(), ..Default::default() }
}

#[test]
fn an_unknown_backend_is_refused_in_tritons_words() {
    let error = programs(Path::new("/nowhere")).for_model(&config("fortran"), Path::new("/m")).unwrap_err();
    assert_eq!(
        error.message,
        "unable to find backend library for backend 'fortran', try specifying runtime on the model configuration."
    );
}

#[test]
fn a_missing_worker_program_names_path_and_flag() {
    let error =
        programs(Path::new("/nowhere")).for_model(&config("onnxruntime"), Path::new("/m")).unwrap_err();
    assert!(error.message.contains("/nowhere/nereid-worker-onnx"), "{error}");
    assert!(error.message.contains("--worker-directory"), "{error}");
}

#[test]
fn a_python_model_runs_in_the_servers_interpreter_unless_it_names_one() {
    let program = programs(Path::new("/nowhere")).for_model(&config("python"), Path::new("/m")).unwrap();
    assert_eq!(program.path, Path::new("/usr/bin/python3"));
    assert_eq!(program.args, ["-m", "nereid_worker"]);
}

#[test]
fn an_environment_that_is_none_is_refused_by_name() {
    let mut config = config("python");
    let value = ModelParameter { string_value: "$$TRITON_MODEL_DIRECTORY/env".into() };
    config.parameters.insert("EXECUTION_ENV_PATH".into(), value);
    let error = programs(Path::new("/nowhere")).for_model(&config, Path::new("/m")).unwrap_err();
    assert!(error.message.contains("'/m/env'"), "{error}");
}

#[test]
fn an_archive_is_unpacked_by_the_worker_which_may_take_its_time() {
    let file = std::env::current_exe().unwrap();
    let mut config = config("python");
    let value = ModelParameter { string_value: file.display().to_string() };
    config.parameters.insert("EXECUTION_ENV_PATH".into(), value);
    let program = programs(Path::new("/nowhere")).for_model(&config, Path::new("/m")).unwrap();
    assert_eq!(program.path, Path::new("/usr/bin/python3"));
    assert!(program.env.contains(&("NEREID_EXECUTION_ENV".into(), file.into())));
    assert!(program.starts_slowly());
}
