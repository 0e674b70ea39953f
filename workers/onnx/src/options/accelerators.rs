//! Execution providers: CUDA and TensorRT for instances on a GPU, OpenVINO for those on a CPU.
//!
//! A library that lacks a provider is an error that names the library and the wheel which has it. A session that would
//! silently run elsewhere than asked is worse than none.
//!
//! Deliberately not here: device memory. Tensors lie in host memory, and the library moves them.

use super::{
    Place,
    values::{parse_bool, parse_int, parse_unsigned},
};
use crate::ffi::{OrtError, options::SessionOptions, runtime::Runtime};
use nereid_proto::inference::{
    ModelConfig, model_instance_group::Kind, model_optimization_policy::execution_accelerators::Accelerator,
};
use nereid_worker::WorkerError;

type Entries = Vec<(String, String)>;

/// One provider with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Provider {
    TensorRt(Entries),
    Cuda(Entries),
    OpenVino(Entries),
}

impl Provider {
    /// The library's name for it, people's, and the wheel that brings it.
    fn names(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::TensorRt(_) => ("TensorrtExecutionProvider", "TensorRT", "onnxruntime-gpu"),
            Self::Cuda(_) => ("CUDAExecutionProvider", "CUDA", "onnxruntime-gpu"),
            Self::OpenVino(_) => ("OpenVINOExecutionProvider", "OpenVINO", "onnxruntime-openvino"),
        }
    }
}

/// The providers that a session tries, in this order, before its own CPU code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Accelerators {
    providers: Vec<Provider>,
    notes: Vec<String>,
}

impl Accelerators {
    pub(super) fn read(config: &ModelConfig, place: Place) -> Result<Self, WorkerError> {
        let policy =
            config.optimization.clone().unwrap_or_default().execution_accelerators.unwrap_or_default();
        let mut accelerators = Self::default();
        if place.kind == Kind::Gpu {
            accelerators.read_gpu(config, &policy.gpu_execution_accelerator, place.device)?;
        }
        for accelerator in &policy.cpu_execution_accelerator {
            match accelerator.name.as_str() {
                "openvino" => {
                    let mut entries = vec![("device_type".to_owned(), "CPU".to_owned())];
                    entries.extend(accelerator.parameters.clone());
                    accelerators.providers.push(Provider::OpenVino(entries));
                    let name = &config.name;
                    accelerators
                        .notes
                        .push(format!("OpenVINO Execution Accelerator is set for '{name}' on CPU"));
                }
                other => return Err(unknown(other)),
            }
        }
        Ok(accelerators)
    }

    fn read_gpu(
        &mut self,
        config: &ModelConfig,
        asked: &[Accelerator],
        device: i32,
    ) -> Result<(), WorkerError> {
        let name = &config.name;
        let mut cuda = Entries::new();
        for accelerator in asked {
            match accelerator.name.as_str() {
                "tensorrt" => {
                    let mut entries = Entries::new();
                    for (key, value) in &accelerator.parameters {
                        entries.extend(tensorrt_entry(key, value)?);
                    }
                    entries.push(("device_id".to_owned(), device.to_string()));
                    self.providers.push(Provider::TensorRt(entries));
                    self.notes.push(format!(
                        "TensorRT Execution Accelerator is set for '{name}' on device {device}"
                    ));
                }
                "cuda" => {
                    for (key, value) in &accelerator.parameters {
                        if ["do_copy_in_default_stream", "use_ep_level_unified_stream"]
                            .contains(&key.as_str())
                        {
                            parse_bool(value)?;
                        }
                        set(&mut cuda, key, value.clone());
                    }
                }
                other => return Err(unknown(other)),
            }
        }
        cuda_parameters(config, &mut cuda)?;
        set(&mut cuda, "device_id", device.to_string());
        self.notes.push(format!("CUDA Execution Accelerator is set for '{name}' on device {device}"));
        // What TensorRT cannot run falls to CUDA, and what CUDA cannot to the CPU.
        self.providers.push(Provider::Cuda(cuda));
        Ok(())
    }

    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(super) fn wants_gpu(&self) -> bool {
        self.providers.iter().any(|provider| !matches!(provider, Provider::OpenVino(_)))
    }

    /// Whether the library was built with all that is asked for.
    pub(super) fn check(&self, runtime: &Runtime) -> Result<(), WorkerError> {
        if self.providers.is_empty() {
            return Ok(());
        }
        let available = runtime.providers().map_err(crate::error::runtime_error)?;
        for provider in &self.providers {
            let (name, people, wheel) = provider.names();
            if !available.iter().any(|available| available == name) {
                return Err(WorkerError::unsupported(format!(
                    "ONNX Runtime {} at '{}' was built without {people}, which this instance needs. Install the wheel \
                     that has it (`pip install {wheel}` instead of onnxruntime), name another library with \
                     --backend-config=onnxruntime,library=<path>, or change instance_group or \
                     optimization.execution_accelerators in the model configuration",
                    runtime.version(),
                    runtime.path().display(),
                )));
            }
        }
        Ok(())
    }

    pub(super) fn append(&self, options: &mut SessionOptions, runtime: &Runtime) -> Result<(), WorkerError> {
        for provider in &self.providers {
            let appended = match provider {
                Provider::TensorRt(entries) => options.append_tensorrt(entries),
                Provider::Cuda(entries) => options.append_cuda(entries),
                Provider::OpenVino(entries) => options.append_named("OpenVINO", entries),
            };
            appended.map_err(|error| cannot_start(provider, runtime, &error))?;
        }
        Ok(())
    }
}

fn unknown(name: &str) -> WorkerError {
    WorkerError::invalid_argument(format!("unknown Execution Accelerator '{name}' is requested"))
}

fn cannot_start(provider: &Provider, runtime: &Runtime, error: &OrtError) -> WorkerError {
    let (_, people, _) = provider.names();
    WorkerError::internal(format!(
        "{error} (ONNX Runtime {} at '{}' could not start {people}: its libraries must lie where the dynamic linker \
         finds them, in LD_LIBRARY_PATH or in the nvidia-* wheels beside onnxruntime)",
        runtime.version(),
        runtime.path().display(),
    ))
}

fn set(entries: &mut Entries, key: &str, value: String) {
    entries.retain(|(known, _)| known != key);
    entries.push((key.to_owned(), value));
}

/// The CUDA provider's options that are written as parameters of the model, an older way.
fn cuda_parameters(config: &ModelConfig, cuda: &mut Entries) -> Result<(), WorkerError> {
    let parameter = |key: &str| config.parameters.get(key).map(|parameter| parameter.string_value.as_str());
    let choice = |key: &str, choices: &[&str]| -> Result<Option<String>, WorkerError> {
        let Some(value) = parameter(key) else { return Ok(None) };
        let number = parse_int(value)?;
        let chosen = usize::try_from(number).ok().and_then(|number| choices.get(number));
        let refused =
            || WorkerError::invalid_argument(format!("unsupported {key} value '{number}' is requested"));
        Ok(Some((*chosen.ok_or_else(refused)?).to_owned()))
    };
    let search = choice("cudnn_conv_algo_search", &["EXHAUSTIVE", "HEURISTIC", "DEFAULT"])?;
    let strategy = choice("arena_extend_strategy", &["kNextPowerOfTwo", "kSameAsRequested"])?;
    let limit = parameter("gpu_mem_limit").map(str::to_owned);
    let copy = parameter("do_copy_in_default_stream").map(str::to_owned);
    let given = [
        ("cudnn_conv_algo_search", search),
        ("arena_extend_strategy", strategy),
        ("gpu_mem_limit", limit),
        ("do_copy_in_default_stream", copy),
    ];
    for (key, value) in given {
        if let Some(value) = value {
            set(cuda, key, value);
        }
    }
    Ok(())
}

/// What a value of TensorRT's options has to be.
enum Value {
    Text,
    Switch,
    Number,
}

/// The options that go by the library's own names.
const TENSORRT: [(&str, Value); 30] = [
    ("trt_max_partition_iterations", Value::Number),
    ("trt_min_subgraph_size", Value::Number),
    ("trt_dla_enable", Value::Switch),
    ("trt_dla_core", Value::Number),
    ("trt_engine_cache_enable", Value::Switch),
    ("trt_engine_cache_path", Value::Text),
    ("trt_engine_cache_prefix", Value::Text),
    ("trt_dump_subgraphs", Value::Switch),
    ("trt_force_sequential_engine_build", Value::Switch),
    ("trt_context_memory_sharing_enable", Value::Switch),
    ("trt_layer_norm_fp32_fallback", Value::Switch),
    ("trt_timing_cache_enable", Value::Switch),
    ("trt_timing_cache_path", Value::Text),
    ("trt_force_timing_cache", Value::Switch),
    ("trt_detailed_build_log", Value::Switch),
    ("trt_build_heuristics_enable", Value::Switch),
    ("trt_sparsity_enable", Value::Switch),
    ("trt_builder_optimization_level", Value::Number),
    ("trt_auxiliary_streams", Value::Number),
    ("trt_tactic_sources", Value::Text),
    ("trt_extra_plugin_lib_paths", Value::Text),
    ("trt_profile_min_shapes", Value::Text),
    ("trt_profile_max_shapes", Value::Text),
    ("trt_profile_opt_shapes", Value::Text),
    ("trt_cuda_graph_enable", Value::Switch),
    ("trt_dump_ep_context_model", Value::Switch),
    ("trt_ep_context_file_path", Value::Text),
    ("trt_ep_context_embed_mode", Value::Number),
    ("trt_engine_hw_compatible", Value::Switch),
    ("trt_weight_stripped_engine_enable", Value::Switch),
];

/// One of TensorRT's options in the library's words; none where it changes nothing.
fn tensorrt_entry(key: &str, value: &str) -> Result<Option<(String, String)>, WorkerError> {
    let entry = |key: &str, value: &str| Ok(Some((key.to_owned(), value.to_owned())));
    match (key, value) {
        ("precision_mode", "FP32") => return Ok(None),
        ("precision_mode", "FP16") => return entry("trt_fp16_enable", "1"),
        ("precision_mode", "BF16") => return entry("trt_bf16_enable", "1"),
        ("precision_mode", "INT8") => return entry("trt_int8_enable", "1"),
        ("precision_mode", other) => {
            let message = format!("unsupported precision mode '{other}' is requested");
            return Err(WorkerError::invalid_argument(message));
        }
        ("max_workspace_size_bytes", bytes) => {
            parse_unsigned(bytes)?;
            return entry("trt_max_workspace_size", bytes);
        }
        ("int8_calibration_table_name", name) => return entry("trt_int8_calibration_table_name", name),
        ("int8_use_native_calibration_table", on) => {
            parse_bool(on)?;
            return entry("trt_int8_use_native_calibration_table", on);
        }
        _ => {}
    }
    let Some((_, kind)) = TENSORRT.iter().find(|(known, _)| *known == key) else {
        return Err(WorkerError::invalid_argument(format!(
            "unknown parameter '{key}' is provided for TensorRT Execution Accelerator"
        )));
    };
    match kind {
        Value::Text => {}
        Value::Switch => drop(parse_bool(value)?),
        Value::Number => drop(parse_int(value)?),
    }
    entry(key, value)
}
