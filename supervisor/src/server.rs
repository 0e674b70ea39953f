//! Builds the parts, wires them, and takes them down again.
//!
//! The endpoints open before the models are loaded: liveness can be asked from the first moment, and readiness says
//! how far the start has come.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nereid_core::config::ServerFacts;
use nereid_core::error::ServeError;
use nereid_core::lifecycle::InstanceConfig;
use nereid_core::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::exit::Exit;
use crate::fleet::cgroup::Groups;
use crate::fleet::exec::Spawner;
use crate::fleet::isolation;
use crate::fleet::orphans;
use crate::fleet::programs::Programs;
use crate::fleet::version::Environment;
use crate::frontend::grpc::GrpcFrontend;
use crate::frontend::http::HttpFrontend;
use crate::frontend::listen::{self, Address, BindError, Shutdown};
use crate::frontend::metrics::MetricsFrontend;
use crate::limits;
use crate::observe::metrics;
use crate::options::{Options, WorkerOptions};
use crate::repository::load::{self, Repositories};
use crate::repository::running::Running;
use crate::serve::Serving;
use crate::serve::registry::Registry;
use crate::shutdown::{self, Endpoint, Plan};
use crate::signals::Signals;

/// How long the workers of a failed load get to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// The extension module of the Python worker, as cargo names it.
const PYTHON_EXTENSION: &str = "libnereid_python.so";

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("unable to handle signals: {0}")]
    Signals(std::io::Error),
    #[error("unable to take on the orphans of workers: {0}")]
    Orphans(std::io::Error),
    #[error("unable to find the server's own program: {0}")]
    Program(std::io::Error),
    #[error("Internal - {0}")]
    Models(ServeError),
}

/// Runs the server until it is told to stop.
pub async fn run(options: Options) -> Result<Exit, StartError> {
    for warning in &options.warnings {
        tracing::warn!("{warning}");
    }
    let mut signals = Signals::new().map_err(StartError::Signals)?;
    let _orphans = orphans::watch().map_err(StartError::Orphans)?;
    let groups = Groups::open().map(Arc::new);
    isolation::start(&groups, options.workers.memory_limit);
    let registry = Arc::new(Registry::default());
    let serving = Arc::new(Serving::new(
        options.id.clone(),
        Arc::clone(&registry),
        options.inflight_bytes_max,
        options.strict_readiness,
    ));
    let environment = Arc::new(environment(&options, Arc::clone(&registry), groups.ok())?);
    limits::raise_open_files();
    let plan = Plan {
        grace: options.shutdown_grace,
        timeout: options.exit_timeout,
        frontends: open_frontends(&options, &serving).await?,
        metrics: open_metrics(&options, &registry).await?,
    };

    let repositories = Repositories {
        paths: options.repository.paths.clone(),
        config_name: options.repository.config_name.clone(),
        parallel_loads: options.repository.parallel_loads,
    };
    let running = Arc::new(Running::default());
    let loaded = tokio::select! {
        loaded = load::all(&environment, &repositories, &running) => Ok(loaded.map_err(StartError::Models)?),
        name = signals.next() => Err(name),
    };
    match loaded {
        Ok(failed) => {
            started(&serving, &running, &failed, options.repository.exit_on_error)?;
            let name = signals.next().await;
            tracing::info!("{name}: stopping");
        }
        // Some models may serve already, and others have workers: all of it ends in the same way.
        Err(name) => tracing::info!("{name} while loading: stopping"),
    }
    serving.set_stopping();
    Ok(shutdown::run(&mut signals, plan, &running).await)
}

/// All models were looked at.
fn started(
    serving: &Serving,
    running: &Running,
    failed: &[String],
    exit_on_error: bool,
) -> Result<(), StartError> {
    if !failed.is_empty() {
        tracing::error!("failed to load: {}", failed.join(", "));
        if exit_on_error {
            return Err(StartError::Models(ServeError::internal("failed to load all models")));
        }
    }
    serving.set_started();
    tracing::info!(versions = running.count(), failed = failed.len(), "all models were looked at");
    Ok(())
}

fn environment(
    options: &Options,
    registry: Arc<Registry>,
    groups: Option<Arc<Groups>>,
) -> Result<Environment, StartError> {
    let own = std::env::current_exe().map_err(StartError::Program)?;
    let own_directory = own.parent().unwrap_or_else(|| Path::new("/"));
    Ok(Environment {
        programs: programs(&options.workers, own_directory),
        spawner: Spawner::new(groups).with_pool(options.workers.warm_pool, &options.repository.paths),
        registry,
        facts: ServerFacts::default(),
        backend_config: options.repository.backend_config.clone(),
        auto_complete: options.repository.auto_complete,
        arena_bytes_max: options.workers.arena_bytes_max,
        instance: InstanceConfig { load_timeout: options.workers.load_timeout, ..Default::default() },
        stop_timeout: STOP_TIMEOUT,
        events: Arc::default(),
        crashes: Arc::default(),
    })
}

fn programs(options: &WorkerOptions, own_directory: &Path) -> Programs {
    // Workers start in their models' directories, so no path may depend on ours.
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let directory = options.directory.as_ref().map_or_else(|| own_directory.to_owned(), absolute);
    // Beside an installed server, or where the sources are built.
    let packages = [
        directory.join("python"),
        directory.join("../lib/nereid/python"),
        directory.join("../../workers/python"),
    ];
    let is_package = |path: &&PathBuf| path.join("nereid_worker/__main__.py").is_file();
    let python_package = packages.iter().find(is_package).unwrap_or(&packages[0]);
    Programs {
        python_package: python_package.canonicalize().unwrap_or_else(|_| python_package.clone()),
        python_extension: directory.join(PYTHON_EXTENSION),
        python: match &options.python {
            // A bare name is looked up in PATH.
            Some(path) if path.components().count() > 1 => absolute(path),
            Some(name) => name.clone(),
            None => "python3".into(),
        },
        onnxruntime: options.onnxruntime.as_ref().map(absolute),
        sandbox: options.sandbox,
        memory_limit: options.memory_limit,
        directory,
    }
}

/// Opens the endpoints that take requests.
async fn open_frontends(options: &Options, serving: &Arc<Serving>) -> Result<Endpoint, StartError> {
    let stop = watch::Sender::new(false);
    let shutdown = Shutdown::new(stop.subscribe());
    let mut tasks = Vec::new();
    if let Some(http) = &options.http {
        let listener = listening("HTTPService", &http.address).await?;
        let frontend = HttpFrontend::new(Arc::clone(serving), http.settings.clone());
        tasks.push(tokio::spawn(frontend.serve(listener, shutdown.clone())));
    }
    if let Some(grpc) = &options.grpc {
        let listener = listening("GRPCInferenceService", &grpc.address).await?;
        let frontend = GrpcFrontend::new(Arc::clone(serving), grpc.settings.clone(), shutdown.clone());
        tasks.push(tokio::spawn(frontend.serve(listener)));
    }
    Ok(Endpoint { stop, tasks })
}

/// Opens the endpoint for scrapers, which outlives the others: it shows how the rest stops.
async fn open_metrics(options: &Options, registry: &Arc<Registry>) -> Result<Endpoint, StartError> {
    let stop = watch::Sender::new(false);
    let shutdown = Shutdown::new(stop.subscribe());
    let mut tasks = Vec::new();
    if let Some(address) = &options.metrics {
        let listener = listening("Metrics Service", address).await?;
        let registry = Arc::clone(registry);
        let frontend = MetricsFrontend::new(Arc::new(move || metrics::render(&registry)));
        tasks.push(tokio::spawn(frontend.serve(listener, shutdown)));
    }
    Ok(Endpoint { stop, tasks })
}

async fn listening(name: &str, address: &Address) -> Result<TcpListener, BindError> {
    let listener = listen::bind(address).await?;
    tracing::info!("Started {name} at {address}");
    Ok(listener)
}
