//! The flags that are served, with Triton's names. Defaults are in [`crate::options`].

use std::path::PathBuf;

use clap::{ArgAction, Parser};

use nereid_ipc::sys::sandbox::Level;

use super::values::{KeyValue, parse_bool, parse_number, parse_sandbox, parse_verbose};
use crate::options;

/// Serves the models of a repository, each instance in a process of its own.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "nereid serve",
    override_usage = "nereid serve --model-repository <PATH> [OPTIONS]",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true
)]
pub(super) struct Flags {
    /// Name of the server in its metadata.
    #[arg(long, default_value = options::ID, help_heading = "Server")]
    pub(super) id: String,
    /// Seconds that requests in flight get when the server is told to stop.
    #[arg(long, value_parser = parse_number::<i64>, default_value_t = options::EXIT_TIMEOUT_SECONDS.cast_signed(), allow_negative_numbers = true, help_heading = "Server")]
    pub(super) exit_timeout_secs: i64,
    /// Seconds for which the server, told to stop, still takes requests while it says that it is not ready.
    #[arg(long, value_parser = parse_number::<u64>, default_value_t = options::SHUTDOWN_GRACE_SECONDS, help_heading = "Server")]
    pub(super) shutdown_grace_secs: u64,
    /// Bytes of all requests that are served at once; more are refused.
    #[arg(long, value_parser = parse_number::<u64>, default_value_t = options::INFLIGHT_BYTES_MAX, help_heading = "Server")]
    pub(super) max_inflight_bytes: u64,

    /// Verbose logging: 0 is off, 1 adds debug lines, 2 everything.
    #[arg(long, value_parser = parse_verbose, default_value = "0", help_heading = "Logging")]
    pub(super) log_verbose: u32,
    /// Log info lines.
    #[arg(long, value_parser = parse_bool, default_value = "true", action = ArgAction::Set, help_heading = "Logging")]
    pub(super) log_info: bool,
    /// Log warnings.
    #[arg(long, value_parser = parse_bool, default_value = "true", action = ArgAction::Set, help_heading = "Logging")]
    pub(super) log_warning: bool,
    /// Log errors.
    #[arg(long, value_parser = parse_bool, default_value = "true", action = ArgAction::Set, help_heading = "Logging")]
    pub(super) log_error: bool,

    /// Directory of models. May be given several times.
    #[arg(long, alias = "model-store", action = ArgAction::Append, help_heading = "Model repository")]
    pub(super) model_repository: Vec<PathBuf>,
    /// End when a model cannot be loaded at the start. Triton's default is true.
    #[arg(long, value_parser = parse_bool, default_value = "false", action = ArgAction::Set, help_heading = "Model repository")]
    pub(super) exit_on_error: bool,
    /// Serve configurations as they are written, without completing them from the models.
    #[arg(long, help_heading = "Model repository")]
    pub(super) disable_auto_complete_config: bool,
    /// Deprecated form of --disable-auto-complete-config.
    #[arg(long, value_parser = parse_bool, default_value = "false", action = ArgAction::Set, help_heading = "Model repository")]
    pub(super) strict_model_config: bool,
    /// Ready only when every model is ready.
    #[arg(long, value_parser = parse_bool, default_value = "true", action = ArgAction::Set, help_heading = "Model repository")]
    pub(super) strict_readiness: bool,
    /// Prefer configs/<name>.pbtxt in a model's directory.
    #[arg(long, help_heading = "Model repository")]
    pub(super) model_config_name: Option<String>,
    /// Models that are loaded at the same time.
    #[arg(long, value_parser = parse_number::<usize>, default_value_t = options::MODEL_LOAD_THREADS, help_heading = "Model repository")]
    pub(super) model_load_thread_count: usize,
    /// Only `none` is served: all models are loaded at the start.
    #[arg(long, default_value = "none", help_heading = "Model repository")]
    pub(super) model_control_mode: String,

    /// Serve HTTP.
    #[arg(long, value_parser = parse_bool, default_value = "true", action = ArgAction::Set, help_heading = "HTTP")]
    pub(super) allow_http: bool,
    /// Address of the HTTP endpoint.
    #[arg(long, default_value = options::HOST, help_heading = "HTTP")]
    pub(super) http_address: String,
    /// Port of the HTTP endpoint.
    #[arg(long, value_parser = parse_number::<u16>, default_value_t = options::HTTP_PORT, help_heading = "HTTP")]
    pub(super) http_port: u16,
    /// Let several servers share the HTTP port.
    #[arg(long, value_parser = parse_bool, default_value = "false", action = ArgAction::Set, help_heading = "HTTP")]
    pub(super) reuse_http_port: bool,
    /// Headers whose names match become request parameters.
    #[arg(long, default_value = "", help_heading = "HTTP")]
    pub(super) http_header_forward_pattern: String,
    /// Bytes of the JSON part of a request, of a tensor in it, of an unpacked body.
    #[arg(long, value_parser = parse_number::<i64>, default_value_t = options::HTTP_MAX_INPUT_SIZE.cast_signed(), allow_negative_numbers = true, help_heading = "HTTP")]
    pub(super) http_max_input_size: i64,
    /// <api,…>:<header>=<value>: these APIs need that header. May be given several times.
    #[arg(long, action = ArgAction::Append, help_heading = "HTTP")]
    pub(super) http_restricted_api: Vec<String>,

    /// Serve gRPC.
    #[arg(long, value_parser = parse_bool, default_value = "true", action = ArgAction::Set, help_heading = "gRPC")]
    pub(super) allow_grpc: bool,
    /// Address of the gRPC endpoint.
    #[arg(long, default_value = options::HOST, help_heading = "gRPC")]
    pub(super) grpc_address: String,
    /// Port of the gRPC endpoint.
    #[arg(long, value_parser = parse_number::<u16>, default_value_t = options::GRPC_PORT, help_heading = "gRPC")]
    pub(super) grpc_port: u16,
    /// Let several servers share the gRPC port.
    #[arg(long, value_parser = parse_bool, default_value = "false", action = ArgAction::Set, help_heading = "gRPC")]
    pub(super) reuse_grpc_port: bool,
    /// Metadata whose keys match become request parameters.
    #[arg(long, default_value = "", help_heading = "gRPC")]
    pub(super) grpc_header_forward_pattern: String,
    /// <protocol,…>:<key>=<value>: these need the metadata triton-grpc-protocol-<key>. May be given several times.
    #[arg(long, action = ArgAction::Append, help_heading = "gRPC")]
    pub(super) grpc_restricted_protocol: Vec<String>,

    /// Pack responses for clients that accept it: none, low, medium or high.
    #[arg(long, default_value = "none", help_heading = "gRPC")]
    pub(super) grpc_infer_response_compression_level: String,
    /// Milliseconds without traffic after which a connection is probed.
    #[arg(long, value_parser = parse_number::<u64>, default_value_t = options::GRPC_KEEPALIVE_TIME_MS, help_heading = "gRPC")]
    pub(super) grpc_keepalive_time: u64,
    /// Milliseconds without an answer to a probe after which a connection is closed.
    #[arg(long, value_parser = parse_number::<u64>, default_value_t = options::GRPC_KEEPALIVE_TIMEOUT_MS, help_heading = "gRPC")]
    pub(super) grpc_keepalive_timeout: u64,
    /// Milliseconds after which a connection takes no more calls. Default: never.
    #[arg(long, value_parser = parse_number::<u64>, help_heading = "gRPC")]
    pub(super) grpc_max_connection_age: Option<u64>,
    /// Milliseconds that calls get then. Default: as long as they need.
    #[arg(long, value_parser = parse_number::<u64>, help_heading = "gRPC")]
    pub(super) grpc_max_connection_age_grace: Option<u64>,

    /// Serve metrics.
    #[arg(long, value_parser = parse_bool, default_value = "true", action = ArgAction::Set, help_heading = "Metrics")]
    pub(super) allow_metrics: bool,
    /// Address of the metrics endpoint. Default: the HTTP address.
    #[arg(long, help_heading = "Metrics")]
    pub(super) metrics_address: Option<String>,
    /// Port of the metrics endpoint.
    #[arg(long, value_parser = parse_number::<u16>, default_value_t = options::METRICS_PORT, help_heading = "Metrics")]
    pub(super) metrics_port: u16,

    /// [<backend>,]<key>=<value>: a setting for one backend, or for all. May be given several times.
    #[arg(long, action = ArgAction::Append, help_heading = "Workers")]
    pub(super) backend_config: Vec<KeyValue>,
    /// Directory of the workers' programs. Default: beside the server.
    #[arg(long, help_heading = "Workers")]
    pub(super) worker_directory: Option<PathBuf>,
    /// Interpreter of Python models that name none. Default: python3 on PATH.
    #[arg(long, help_heading = "Workers")]
    pub(super) python: Option<PathBuf>,
    /// ONNX Runtime's library or its directory. Default: looked for in the Python on PATH.
    #[arg(long, help_heading = "Workers")]
    pub(super) onnxruntime: Option<PathBuf>,
    /// Bytes of shared memory that an instance may use for inputs, and as many for outputs.
    #[arg(long, value_parser = parse_number::<u64>, default_value_t = options::ARENA_BYTES_MAX, help_heading = "Workers")]
    pub(super) arena_byte_size: u64,
    /// Seconds that a worker may take to load its model.
    #[arg(long, value_parser = parse_number::<u64>, default_value_t = 600, help_heading = "Workers")]
    pub(super) model_load_timeout_secs: u64,
    /// What workers may not do: off, standard (write outside their folders, listen, reach other processes) or strict (also
    /// the network, and reading outside). A model's parameter worker_sandbox takes precedence.
    #[arg(long, value_parser = parse_sandbox, default_value = options::WORKER_SANDBOX, help_heading = "Workers")]
    pub(super) worker_sandbox: Level,
    /// Bytes of memory that a worker may use before it is killed; 0 for no limit. A model's parameter memory_limit_bytes takes
    /// precedence.
    #[arg(long, value_parser = parse_number::<u64>, default_value_t = 0, help_heading = "Workers")]
    pub(super) worker_memory_limit_bytes: u64,
    /// Python workers that are started ahead for each interpreter or environment that a model uses, so that a model loads, or comes
    /// back, without waiting for imports. At most 255.
    #[arg(long, value_parser = parse_number::<u8>, default_value_t = 0, help_heading = "Workers")]
    pub(super) warm_pool: u8,
}
