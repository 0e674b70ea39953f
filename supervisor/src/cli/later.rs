//! Triton's flags that are not served yet: one table, so that none is swallowed.

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};

use super::UsageError;

/// What becomes of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It tunes what Nereid does in its own way: said in the log, otherwise ignored.
    Ignored,
    /// Ignoring it would change what is served, or who may ask for it.
    Refused,
}

use Fate::{Ignored, Refused};

/// Flag and fate. Each takes one value, which is optional so that a missing one is no second error.
const LATER: &[(&str, Fate)] = &[
    ("log-format", Ignored),
    ("log-file", Refused),
    ("repository-poll-secs", Ignored),
    ("load-model", Refused),
    ("model-load-retry-count", Ignored),
    ("model-namespacing", Refused),
    ("enable-peer-access", Ignored),
    ("http-thread-count", Ignored),
    ("grpc-infer-thread-count", Ignored),
    ("grpc-infer-allocation-pool-size", Ignored),
    ("grpc-max-response-pool-size", Ignored),
    ("grpc-use-ssl", Refused),
    ("grpc-use-ssl-mutual", Refused),
    ("grpc-server-cert", Refused),
    ("grpc-server-key", Refused),
    ("grpc-root-cert", Refused),
    ("grpc-keepalive-permit-without-calls", Ignored),
    ("grpc-http2-max-pings-without-data", Ignored),
    ("grpc-http2-min-recv-ping-interval-without-data", Ignored),
    ("grpc-http2-max-ping-strikes", Ignored),
    ("allow-sagemaker", Refused),
    ("sagemaker-port", Ignored),
    ("sagemaker-safe-port-range", Refused),
    ("sagemaker-thread-count", Ignored),
    ("allow-vertex-ai", Refused),
    ("vertex-ai-port", Ignored),
    ("vertex-ai-thread-count", Ignored),
    ("vertex-ai-default-model", Ignored),
    ("allow-gpu-metrics", Ignored),
    ("allow-cpu-metrics", Ignored),
    ("metrics-interval-ms", Ignored),
    ("metrics-config", Ignored),
    ("trace-config", Refused),
    ("trace-file", Refused),
    ("trace-level", Refused),
    ("trace-rate", Ignored),
    ("trace-count", Ignored),
    ("trace-log-frequency", Ignored),
    ("backend-directory", Ignored),
    ("repoagent-directory", Ignored),
    ("cache-config", Refused),
    ("cache-directory", Ignored),
    ("response-cache-byte-size", Refused),
    ("rate-limit", Refused),
    ("rate-limit-resource", Refused),
    ("pinned-memory-pool-byte-size", Ignored),
    ("cuda-memory-pool-byte-size", Ignored),
    ("cuda-virtual-address-size", Ignored),
    ("min-supported-compute-capability", Ignored),
    ("buffer-manager-thread-count", Ignored),
    ("host-policy", Refused),
    ("model-load-gpu-limit", Refused),
    ("allow-client-shm", Refused),
];

/// Values with which a refused flag asks for nothing.
const OFF: &[&str] = &["false", "off", "0", "none", ""];

/// The command with these flags known to it, so that they get an answer of their own.
pub(super) fn add(command: Command) -> Command {
    LATER.iter().fold(command, |command, (flag, _)| {
        command.arg(Arg::new(*flag).long(*flag).num_args(0..=1).action(ArgAction::Append).hide(true))
    })
}

/// What to log about those that were given; an error where one cannot be ignored.
pub(super) fn check(matches: &ArgMatches) -> Result<Vec<String>, UsageError> {
    let mut warnings = Vec::new();
    for (flag, fate) in LATER {
        if matches.value_source(flag) != Some(ValueSource::CommandLine) {
            continue;
        }
        let values = || matches.get_many::<String>(flag).into_iter().flatten();
        let is_off = values().next().is_some()
            && values().all(|value| OFF.contains(&value.to_ascii_lowercase().as_str()));
        match fate {
            Refused if !is_off => {
                return Err(UsageError(format!(
                    "--{flag} is not served by this version of Nereid; without it the server would not do what is \
                     asked for, so it does not start"
                )));
            }
            Refused => {}
            Ignored => warnings.push(format!("--{flag} has no effect in this version of Nereid")),
        }
    }
    Ok(warnings)
}
