//! Which program holds a model: backend name and configuration → command line.
//!
//! Nothing is started here, and no library is opened: what a worker needs of the user's own software it finds itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use nereid_core::error::ServeError;
use nereid_ipc::sys::sandbox::Level;
use nereid_proto::inference::ModelConfig;

use super::confine;
use super::exec::Program;
use super::resources;

/// Backends that the echo worker plays.
const ECHO_BACKENDS: &[&str] = &["echo", "identity", "repeat", "square", "sequence", "dyna_sequence"];

/// The model parameter that names another interpreter or a virtual environment.
const PYTHON_PARAMETER: &str = "PYTHON_EXECUTABLE";
/// Triton's parameter for a conda-pack archive or an unpacked environment.
const ENVIRONMENT_PARAMETER: &str = "EXECUTION_ENV_PATH";
/// Tells the worker of an archive.
const ARCHIVE_VARIABLE: &str = "NEREID_EXECUTION_ENV";
/// What that parameter may begin with, in place of the model's own directory.
const MODEL_DIRECTORY_WORD: &str = "$$TRITON_MODEL_DIRECTORY";

/// Where the workers' programs lie and what the operator chose for them.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Holds `nereid-worker-echo`, `nereid-worker-onnx` and so on.
    pub directory: PathBuf,
    /// Holds the package `nereid_worker`.
    pub python_package: PathBuf,
    /// The extension module that the package loads.
    pub python_extension: PathBuf,
    /// The interpreter of models that name none.
    pub python: PathBuf,
    /// `--onnxruntime`: the library or its directory. `None`: the worker looks for it.
    pub onnxruntime: Option<PathBuf>,
    /// `--worker-sandbox`: what models get that do not say.
    pub sandbox: Level,
    /// `--worker-memory-limit-bytes`: the same.
    pub memory_limit: Option<u64>,
}

impl Program {
    /// Whether the worker may need minutes before its first word: it unpacks an environment.
    #[must_use]
    pub fn starts_slowly(&self) -> bool {
        self.env.iter().any(|(name, _)| name == ARCHIVE_VARIABLE)
    }
}

impl Programs {
    /// The program for an instance of `config`, whose directory is `directory`.
    pub fn for_model(&self, config: &ModelConfig, directory: &Path) -> Result<Program, ServeError> {
        let mut program = self.unconfined(config, directory)?;
        program.cache = program.starts_slowly().then(environment_cache).flatten();
        program.confinement = confine::confinement(self.sandbox, config, &program)?;
        program.memory_limit = resources::memory_limit(self.memory_limit, config)?;
        Ok(program)
    }

    fn unconfined(&self, config: &ModelConfig, directory: &Path) -> Result<Program, ServeError> {
        match config.backend.as_str() {
            backend if ECHO_BACKENDS.contains(&backend) => self.native("nereid-worker-echo", directory),
            "onnxruntime" => self.native("nereid-worker-onnx", directory).map(|mut program| {
                if let Some(library) = &self.onnxruntime {
                    program.env.push(("NEREID_ONNXRUNTIME".into(), library.into()));
                }
                program
            }),
            "python" => self.python(config, directory),
            backend => Err(ServeError::invalid(format!(
                "unable to find backend library for backend '{backend}', try specifying runtime on the model \
                 configuration."
            ))),
        }
    }

    fn native(&self, name: &str, directory: &Path) -> Result<Program, ServeError> {
        let path = self.directory.join(name);
        if !path.is_file() {
            return Err(ServeError::not_found(format!(
                "worker '{}' is not there: name the directory of the workers with --worker-directory",
                path.display()
            )));
        }
        Ok(Program { path, directory: directory.to_owned(), ..Program::default() })
    }

    fn python(&self, config: &ModelConfig, directory: &Path) -> Result<Program, ServeError> {
        let Interpreter { path, archive } = self.interpreter(config, directory)?;
        let mut python_path = self.python_package.clone().into_os_string();
        if let Some(inherited) = std::env::var_os("PYTHONPATH").filter(|value| !value.is_empty()) {
            python_path.push(":");
            python_path.push(inherited);
        }
        let mut env = vec![
            ("PYTHONPATH".into(), python_path),
            ("NEREID_PYTHON_EXTENSION".into(), self.python_extension.clone().into()),
        ];
        if let Some(archive) = archive {
            env.push((ARCHIVE_VARIABLE.into(), archive.into()));
        }
        let args = ["-m", "nereid_worker"].map(OsString::from).to_vec();
        let directory = directory.to_owned();
        Ok(Program { path, args, env, directory, is_slow_to_start: true, ..Program::default() })
    }

    /// The model's own interpreter: a parameter that names a program or an environment, else the server's choice.
    fn interpreter(&self, config: &ModelConfig, directory: &Path) -> Result<Interpreter, ServeError> {
        for parameter in [PYTHON_PARAMETER, ENVIRONMENT_PARAMETER] {
            let Some(value) = config.parameters.get(parameter).filter(|value| !value.string_value.is_empty())
            else {
                continue;
            };
            let path = expand(&value.string_value, directory);
            if path.is_file() && parameter == ENVIRONMENT_PARAMETER {
                return Ok(Interpreter { path: self.python.clone(), archive: Some(path) });
            }
            if path.is_file() {
                return Ok(Interpreter { path, archive: None });
            }
            let python = path.join("bin/python");
            if python.exists() {
                return Ok(Interpreter { path: python, archive: None });
            }
            return Err(ServeError::invalid(format!(
                "parameter '{parameter}' of model '{}' names '{}', which is neither an interpreter, nor an archive of an \
                 environment, nor a directory with bin/python",
                config.name,
                path.display()
            )));
        }
        Ok(Interpreter { path: self.python.clone(), archive: None })
    }
}

/// What a Python model runs in.
struct Interpreter {
    path: PathBuf,
    /// Unpacked by the worker, which then goes on in it.
    archive: Option<PathBuf>,
}

/// Where Python workers unpack environments: systemd's folder for this service, or the user's.
fn environment_cache() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = match variable("CACHE_DIRECTORY") {
        Some(folders) => std::env::split_paths(&folders).next()?,
        None => match variable("XDG_CACHE_HOME") {
            Some(folder) => folder.join("nereid"),
            None => variable("HOME")?.join(".cache/nereid"),
        },
    };
    Some(cache.join("environments"))
}

pub(super) fn expand(value: &str, directory: &Path) -> PathBuf {
    match value.strip_prefix(MODEL_DIRECTORY_WORD) {
        Some(rest) => directory.join(rest.trim_start_matches('/')),
        None => PathBuf::from(value),
    }
}

#[cfg(test)]
mod tests;
