//! Flags → options: what has to be looked at together.

use std::time::Duration;

use super::UsageError;
use super::flags::Flags;
use super::values::restrictions;
use crate::frontend::forward::ForwardPattern;
use crate::frontend::grpc::GrpcSettings;
use crate::frontend::http::HttpSettings;
use crate::frontend::listen::Address;
use crate::observe::logging::Levels;
use crate::options::{GrpcOptions, HttpOptions, Options, RepositoryOptions, WorkerOptions};

/// The size of an arena's first segment.
const ARENA_BYTES_MIN: u64 = 1024 * 1024;
/// What Triton's server puts before a key of `--grpc-restricted-protocol`.
const GRPC_KEY_PREFIX: &str = "triton-grpc-protocol-";

pub(super) fn options(flags: Flags, mut warnings: Vec<String>) -> Result<Options, UsageError> {
    if !flags.model_control_mode.eq_ignore_ascii_case("none") {
        return Err(UsageError(match flags.model_control_mode.to_ascii_lowercase().as_str() {
            mode @ ("poll" | "explicit") => {
                format!("--model-control-mode={mode} is not served by this version of Nereid, only none is")
            }
            _ => "invalid argument for --model-control-mode".to_owned(),
        }));
    }
    for (flag, value, least) in [
        ("max-inflight-bytes", flags.max_inflight_bytes, 1),
        ("arena-byte-size", flags.arena_byte_size, ARENA_BYTES_MIN),
        ("model-load-timeout-secs", flags.model_load_timeout_secs, 1),
    ] {
        if value < least {
            return Err(UsageError(format!("Error: --{flag} must be at least {least}, got {value}.")));
        }
    }
    if flags.strict_model_config {
        warnings.push("--strict-model-config is deprecated, use --disable-auto-complete-config".to_owned());
    }
    let http = http(&flags)?;
    let grpc = grpc(&flags)?;
    let metrics = flags.allow_metrics.then(|| Address {
        host: flags.metrics_address.clone().unwrap_or_else(|| flags.http_address.clone()),
        port: flags.metrics_port,
        reuse_port: false,
    });
    collisions(&[
        ("HTTP", http.as_ref().map(|http| &http.address)),
        ("GRPC", grpc.as_ref().map(|grpc| &grpc.address)),
        ("metrics", metrics.as_ref()),
    ])?;
    Ok(Options {
        id: flags.id.clone(),
        exit_timeout: Duration::from_secs(u64::try_from(flags.exit_timeout_secs).unwrap_or(0)),
        shutdown_grace: Duration::from_secs(flags.shutdown_grace_secs),
        levels: Levels {
            info: flags.log_info,
            warning: flags.log_warning,
            error: flags.log_error,
            verbose: flags.log_verbose,
        },
        strict_readiness: flags.strict_readiness,
        http,
        grpc,
        metrics,
        inflight_bytes_max: flags.max_inflight_bytes,
        repository: repository(&flags)?,
        workers: WorkerOptions {
            directory: flags.worker_directory,
            python: flags.python,
            onnxruntime: flags.onnxruntime,
            arena_bytes_max: flags.arena_byte_size,
            load_timeout: Duration::from_secs(flags.model_load_timeout_secs),
            sandbox: flags.worker_sandbox,
            warm_pool: flags.warm_pool.into(),
            memory_limit: Some(flags.worker_memory_limit_bytes).filter(|&bytes| bytes > 0),
        },
        warnings,
    })
}

fn repository(flags: &Flags) -> Result<RepositoryOptions, UsageError> {
    if flags.model_repository.is_empty() {
        return Err(UsageError(
            "Error: --model-repository must be given: without it there is nothing to serve. For a server without models, name \
             an empty folder."
                .to_owned(),
        ));
    }
    if flags.model_config_name.as_deref() == Some("") {
        return Err(UsageError("Error: empty argument for --model-config-name".to_owned()));
    }
    // A set, as under Triton: naming a repository twice is no ambiguity.
    let mut paths = flags.model_repository.clone();
    paths.sort();
    paths.dedup();
    let settings = flags.backend_config.iter();
    Ok(RepositoryOptions {
        paths,
        config_name: flags.model_config_name.clone().unwrap_or_default(),
        parallel_loads: flags.model_load_thread_count.max(1),
        auto_complete: !(flags.disable_auto_complete_config || flags.strict_model_config),
        exit_on_error: flags.exit_on_error,
        backend_config: settings
            .map(|setting| (setting.backend.clone(), setting.key.clone(), setting.value.clone()))
            .collect(),
    })
}

fn http(flags: &Flags) -> Result<Option<HttpOptions>, UsageError> {
    let max_input_size = u64::try_from(flags.http_max_input_size).unwrap_or(0);
    if max_input_size == 0 {
        return Err(UsageError("Error: --http-max-input-size must be greater than 0.".to_owned()));
    }
    let restrictions =
        restrictions("http-restricted-api", "api", "", &flags.http_restricted_api).map_err(UsageError)?;
    let forward = forward("http-header-forward-pattern", &flags.http_header_forward_pattern)?;
    let address = Address {
        host: flags.http_address.clone(),
        port: flags.http_port,
        reuse_port: flags.reuse_http_port,
    };
    let settings = HttpSettings { max_input_size, restrictions, forward };
    Ok(flags.allow_http.then_some(HttpOptions { address, settings }))
}

fn grpc(flags: &Flags) -> Result<Option<GrpcOptions>, UsageError> {
    let restrictions = restrictions(
        "grpc-restricted-protocol",
        "protocol",
        GRPC_KEY_PREFIX,
        &flags.grpc_restricted_protocol,
    )
    .map_err(UsageError)?;
    let forward = forward("grpc-header-forward-pattern", &flags.grpc_header_forward_pattern)?;
    let address = Address {
        host: flags.grpc_address.clone(),
        port: flags.grpc_port,
        reuse_port: flags.reuse_grpc_port,
    };
    let compress_responses = match flags.grpc_infer_response_compression_level.to_ascii_lowercase().as_str() {
        "none" => false,
        "low" | "medium" | "high" => true,
        _ => {
            return Err(UsageError(
                "invalid argument for --grpc_infer_response_compression_level".to_owned(),
            ));
        }
    };
    let settings = GrpcSettings {
        restrictions,
        forward,
        compress_responses,
        keepalive_time: Duration::from_millis(flags.grpc_keepalive_time),
        keepalive_timeout: Duration::from_millis(flags.grpc_keepalive_timeout),
        connection_age_max: flags.grpc_max_connection_age.map(Duration::from_millis),
        connection_age_grace: flags.grpc_max_connection_age_grace.map(Duration::from_millis),
    };
    Ok(flags.allow_grpc.then_some(GrpcOptions { address, settings }))
}

fn forward(flag: &str, pattern: &str) -> Result<Option<ForwardPattern>, UsageError> {
    if pattern.is_empty() {
        return Ok(None);
    }
    let wrong = |error| UsageError(format!("Bad option: \"--{flag}\".\n{error}"));
    ForwardPattern::new(pattern).map(Some).map_err(wrong)
}

fn collisions(endpoints: &[(&str, Option<&Address>)]) -> Result<(), UsageError> {
    let served = || endpoints.iter().filter_map(|(name, address)| address.map(|address| (*name, address)));
    for (index, (first, address)) in served().enumerate() {
        for (second, other) in served().skip(index + 1) {
            if address.port == other.port && address.host == other.host {
                return Err(UsageError(format!(
                    "The server cannot listen to {first} requests and {second} requests at the same address and port \
                     {address}"
                )));
            }
        }
    }
    Ok(())
}
