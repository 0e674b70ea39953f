//! What the server is told at its start: plain, checked, with every default in one place.
//!
//! [`crate::cli`] fills it from a command line; nothing after it parses text.

use std::path::PathBuf;
use std::time::Duration;

use nereid_ipc::sys::sandbox::Level;

use crate::frontend::grpc::GrpcSettings;
use crate::frontend::http::HttpSettings;
use crate::frontend::listen::Address;
use crate::observe::logging::Levels;

pub const ID: &str = "triton";
pub const EXIT_TIMEOUT_SECONDS: u64 = 30;
pub const SHUTDOWN_GRACE_SECONDS: u64 = 0;
pub const HOST: &str = "0.0.0.0";
pub const HTTP_PORT: u16 = 8000;
pub const GRPC_PORT: u16 = 8001;
pub const METRICS_PORT: u16 = 8002;
pub const HTTP_MAX_INPUT_SIZE: u64 = 64 * 1024 * 1024;
pub const GRPC_KEEPALIVE_TIME_MS: u64 = 7_200_000;
pub const GRPC_KEEPALIVE_TIMEOUT_MS: u64 = 20_000;
pub const MODEL_LOAD_THREADS: usize = 4;
/// Of requests that are being served at once.
pub const INFLIGHT_BYTES_MAX: u64 = 4 << 30;
pub const WORKER_SANDBOX: &str = "standard";
/// Of each instance, for inputs and for outputs.
pub const ARENA_BYTES_MAX: u64 = 1 << 30;

/// Everything that can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    pub id: String,
    /// For the requests in flight when the server is told to stop.
    pub exit_timeout: Duration,
    /// Between "not ready" and the first connection that is refused.
    pub shutdown_grace: Duration,
    pub levels: Levels,
    pub repository: RepositoryOptions,
    pub strict_readiness: bool,
    /// `None`: the protocol is not served.
    pub http: Option<HttpOptions>,
    pub grpc: Option<GrpcOptions>,
    pub metrics: Option<Address>,
    pub inflight_bytes_max: u64,
    pub workers: WorkerOptions,
    /// What was asked for and is not done, for the log.
    pub warnings: Vec<String>,
}

/// Which models, and how they are loaded.
#[derive(Clone, Debug)]
pub struct RepositoryOptions {
    pub paths: Vec<PathBuf>,
    /// Prefer `configs/<name>.pbtxt`. Empty: none.
    pub config_name: String,
    pub parallel_loads: usize,
    /// Workers complete what a configuration leaves out.
    pub auto_complete: bool,
    /// End when a model of the start cannot be loaded.
    pub exit_on_error: bool,
    /// `--backend-config`: (backend, or empty for all; key; value).
    pub backend_config: Vec<(String, String, String)>,
}

/// The HTTP endpoint.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    pub address: Address,
    pub settings: HttpSettings,
}

/// The gRPC endpoint.
#[derive(Clone, Debug)]
pub struct GrpcOptions {
    pub address: Address,
    pub settings: GrpcSettings,
}

/// Where the workers' programs are, and what they may use.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// `None`: beside the server's own program.
    pub directory: Option<PathBuf>,
    /// `None`: `python3` on PATH.
    pub python: Option<PathBuf>,
    /// `None`: the workers look for it.
    pub onnxruntime: Option<PathBuf>,
    pub arena_bytes_max: u64,
    pub load_timeout: Duration,
    /// For models that do not say.
    pub sandbox: Level,
    /// Bytes; the same.
    pub memory_limit: Option<u64>,
    /// Workers that are started ahead for each environment.
    pub warm_pool: usize,
}
