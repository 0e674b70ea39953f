//! What a model configuration and the backend settings ask of a session.
//!
//! Read once into plain data, so that the session made to describe a model can serve it when the settings have stayed
//! the same, and so that every rule is testable without a library. The keys are those of Triton's ONNX Runtime
//! backend, and a few more:
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `intra_op_thread_count` | threads within an operator; 0: the library's choice | CPUs / instances |
//! | `inter_op_thread_count` | threads across operators, where these run in parallel | CPUs / instances |
//! | `execution_mode` | 0: one operator after the other, 1: in parallel | 0 |
//! | `enable_mem_arena`, `enable_mem_pattern` | the library's memory options | the library's |
//! | `memory.*` | an entry of the run options, such as `memory.enable_memory_arena_shrinkage` | |
//! | `session.*`, `optimization.*`, `ep.*`, `mlas.*` | an entry of the session options | see below |
//! | `cpu_mem_limit` | bytes that the CPU arena may hold | none |
//! | `arena_extend_strategy` | 0: the arena grows by powers of two, 1: by what is asked | 0 |
//! | `gpu_mem_limit`, `cudnn_conv_algo_search`, `do_copy_in_default_stream` | the CUDA provider's options | |
//! | `onnxruntime_library` | this model's own library (`crate::library`) | |
//!
//! The default number of threads differs from Triton's on purpose: instances are processes here, and the library's own
//! default would have each of them start, and pin, a thread on every core. It is the CPUs that this process may use,
//! divided by the model's instances. For the same reason threads do not go on spinning after a run
//! (`session.force_spinning_stop` is 1).
//!
//! Deliberately not here: finding the library, and the session itself.

mod accelerators;
#[cfg(test)]
mod tests;
mod values;

use crate::{
    error::runtime_error,
    ffi::{
        OrtError,
        options::{GraphLevel, RunOptions, SessionOptions},
        runtime::Runtime,
    },
};
use accelerators::Accelerators;
use nereid_proto::inference::{ModelConfig, ModelInstanceGroup, model_instance_group::Kind};
use nereid_worker::WorkerError;
use std::{
    collections::BTreeMap,
    ffi::{CStr, c_int},
};
use values::{parse_bool, parse_int, parse_unsigned};

/// Instances that a model has on CPUs when its configuration does not say: the server's default for this backend.
const CPU_INSTANCES_DEFAULT: usize = 2;

/// Prefixes of parameters that are handed to the session as they are.
const SESSION_ENTRIES: [&str; 4] = ["session.", "optimization.", "ep.", "mlas."];

/// Where the instance runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    pub(crate) device: i32,
    /// CPUs that this process may use.
    pub(crate) cpus: usize,
}

/// All that a session and its runs are made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    graph: Graph,
    parallel: bool,
    /// 0 leaves the number to the library.
    intra_threads: c_int,
    inter_threads: c_int,
    memory_arena: Option<bool>,
    memory_pattern: Option<bool>,
    session_entries: Vec<(String, String)>,
    run_entries: Vec<(String, String)>,
    operator_libraries: Vec<String>,
    /// Limits of the CPU arena, by the library's own names.
    arena: Vec<(&'static CStr, usize)>,
    accelerators: Accelerators,
    /// What the log shall say of all this.
    notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Graph(GraphLevel);

impl Settings {
    /// Reads them, or tells which one is wrong.
    pub(crate) fn read(
        config: &ModelConfig,
        backend: &BTreeMap<String, String>,
        place: Place,
    ) -> Result<Self, WorkerError> {
        let parameter =
            |key: &str| config.parameters.get(key).map(|parameter| parameter.string_value.as_str());
        let optimization = config.optimization.as_ref();
        let level =
            optimization.and_then(|optimization| optimization.graph.as_ref()).map_or(0, |graph| graph.level);
        let parallel = match parse_int(parameter("execution_mode").unwrap_or("0"))? {
            0 => false,
            1 => true,
            other => {
                return Err(WorkerError::invalid_argument(format!(
                    "Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got \
                     {other} ."
                )));
            }
        };
        let threads = Threads::read(config, backend, place)?;
        let mut settings = Self {
            graph: Graph(graph_level(level)),
            parallel,
            intra_threads: threads.intra,
            inter_threads: threads.inter,
            memory_arena: parameter("enable_mem_arena").map(parse_bool).transpose()?,
            memory_pattern: parameter("enable_mem_pattern").map(parse_bool).transpose()?,
            session_entries: vec![("session.force_spinning_stop".to_owned(), "1".to_owned())],
            run_entries: Vec::new(),
            operator_libraries: config.model_operations.clone().unwrap_or_default().op_library_filename,
            arena: arena_limits(&parameter, place)?,
            accelerators: Accelerators::read(config, place)?,
            notes: Vec::new(),
        };
        for key in ["enable_mem_arena", "enable_mem_pattern"] {
            settings.notes.extend(parameter(key).map(|value| format!("Configuring {key} to {value}")));
        }
        settings.read_entries(config);
        Ok(settings)
    }

    fn read_entries(&mut self, config: &ModelConfig) {
        for (key, parameter) in &config.parameters {
            let value = &parameter.string_value;
            if SESSION_ENTRIES.iter().any(|prefix| key.starts_with(prefix)) {
                self.session_entries.retain(|(known, _)| known != key);
                self.session_entries.push((key.clone(), value.clone()));
                self.notes.push(format!("Configuring '{key}' to '{value}' for '{}'", config.name));
            } else if key.starts_with("memory.") {
                self.run_entries.push((key.clone(), value.clone()));
                self.notes.push(format!("Configuring {key} to {value}"));
            }
        }
        if !self.arena.is_empty() {
            self.session_entries.push(("session.use_env_allocators".to_owned(), "1".to_owned()));
        }
    }

    /// What the log shall say, in the words that operators may grep for.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().chain(self.accelerators.notes()).map(String::as_str)
    }

    /// Whether the CUDA libraries that Python wheels bring will be needed.
    pub(crate) fn wants_gpu(&self) -> bool {
        self.accelerators.wants_gpu()
    }

    /// The session's options.
    pub(crate) fn session_options(&self, runtime: &'static Runtime) -> Result<SessionOptions, WorkerError> {
        self.accelerators.check(runtime)?;
        let mut options = self.plain_options(runtime).map_err(runtime_error)?;
        self.accelerators.append(&mut options, runtime)?;
        for library in &self.operator_libraries {
            options.add_operators(library).map_err(runtime_error)?;
        }
        Ok(options)
    }

    fn plain_options(&self, runtime: &'static Runtime) -> Result<SessionOptions, OrtError> {
        let mut options = SessionOptions::new(runtime)?;
        options.set_graph_level(self.graph.0)?;
        options.set_parallel(self.parallel)?;
        if self.intra_threads > 0 {
            options.set_intra_threads(self.intra_threads)?;
        }
        if self.inter_threads > 0 {
            options.set_inter_threads(self.inter_threads)?;
        }
        if let Some(on) = self.memory_arena {
            options.set_memory_arena(on)?;
        }
        if let Some(on) = self.memory_pattern {
            options.set_memory_pattern(on)?;
        }
        if !self.arena.is_empty() {
            runtime.register_arena(&self.arena)?;
        }
        for (key, value) in &self.session_entries {
            options.set_entry(key, value)?;
        }
        Ok(options)
    }

    /// The options of every run.
    pub(crate) fn run_options(&self, runtime: &'static Runtime) -> Result<RunOptions, OrtError> {
        let mut options = RunOptions::new(runtime)?;
        for (key, value) in &self.run_entries {
            options.set_entry(key, value)?;
        }
        Ok(options)
    }
}

fn graph_level(level: i32) -> GraphLevel {
    match level {
        -1 => GraphLevel::Basic,
        1 => GraphLevel::Extended,
        2 => GraphLevel::None,
        _ => GraphLevel::All,
    }
}

struct Threads {
    intra: c_int,
    inter: c_int,
}

impl Threads {
    /// The backend's setting counts where the model has none, and before the model's where `enable-global-threadpool`
    /// is on: there is no pool to share among processes, but the operator's numbers shall hold.
    fn read(
        config: &ModelConfig,
        backend: &BTreeMap<String, String>,
        place: Place,
    ) -> Result<Self, WorkerError> {
        let global = backend.get("enable-global-threadpool").map_or(Ok(false), |value| parse_bool(value))?;
        let share = place.cpus / instances(config, place).max(1);
        let share = c_int::try_from(share.max(1)).unwrap_or(c_int::MAX);
        let count = |key: &str| {
            let of_model = config.parameters.get(key).map(|parameter| &parameter.string_value);
            let of_backend = backend.get(key);
            let chosen = if global { of_backend } else { of_model.or(of_backend) };
            chosen.map_or(Ok(share), |value| parse_int(value))
        };
        Ok(Self { intra: count("intra_op_thread_count")?, inter: count("inter_op_thread_count")? })
    }
}

/// Instances of the model on this machine, which share its CPUs.
fn instances(config: &ModelConfig, place: Place) -> usize {
    if config.instance_group.is_empty() {
        return if place.kind == Kind::Cpu { CPU_INSTANCES_DEFAULT } else { 1 };
    }
    let of_group = |group: &ModelInstanceGroup| {
        let count = usize::try_from(group.count).unwrap_or(0).max(1);
        count.saturating_mul(group.gpus.len().max(1))
    };
    config.instance_group.iter().map(of_group).fold(0, usize::saturating_add)
}

fn arena_limits<'a>(
    parameter: &impl Fn(&str) -> Option<&'a str>,
    place: Place,
) -> Result<Vec<(&'static CStr, usize)>, WorkerError> {
    let mut limits = Vec::new();
    if let Some(bytes) = parameter("cpu_mem_limit") {
        let bytes = usize::try_from(parse_unsigned(bytes)?).unwrap_or(usize::MAX);
        limits.push((c"max_mem", bytes));
    }
    // On GPUs the parameter speaks of the CUDA arena.
    if let Some(strategy) = parameter("arena_extend_strategy").filter(|_| place.kind != Kind::Gpu) {
        match parse_int(strategy)? {
            0 => limits.push((c"arena_extend_strategy", 0)),
            1 => limits.push((c"arena_extend_strategy", 1)),
            other => {
                return Err(WorkerError::invalid_argument(format!(
                    "unsupported arena_extend_strategy value '{other}' is requested"
                )));
            }
        }
    }
    Ok(limits)
}
