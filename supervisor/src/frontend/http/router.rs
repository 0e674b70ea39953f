//! The table of routes: path → what is asked for, by which methods, under which restriction.
//!
//! Paths are matched as they came, without decoding `%xx`. Queries are ignored.

use http::Method;

use crate::frontend::restrict::Category;

/// A model as a path names it. The version is digits, or empty for the policy's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelPath<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
}

/// What a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Live,
    Ready,
    ServerMetadata,
    Statistics,
    ModelReady(ModelPath<'a>),
    ModelMetadata(ModelPath<'a>),
    ModelConfig(ModelPath<'a>),
    ModelStatistics(ModelPath<'a>),
    Infer(ModelPath<'a>),
    /// Part of the protocol, and not served yet.
    Later(Later),
}

/// What later milestones bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Later {
    Generate,
    TraceSettings,
    LogSettings,
    RepositoryIndex,
    RepositoryControl,
    SharedMemoryStatus,
    SharedMemoryChange,
}

/// Methods a route answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Methods {
    Get,
    Post,
    GetAndPost,
}

impl Methods {
    /// As an `Allow` header tells it.
    pub(crate) const fn allow(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD, OPTIONS",
            Self::Post => "POST, OPTIONS",
            Self::GetAndPost => "GET, HEAD, POST, OPTIONS",
        }
    }

    /// HEAD is GET without the body, which the HTTP library leaves out.
    pub(crate) fn contain(self, method: &Method) -> bool {
        let get = *method == Method::GET || *method == Method::HEAD;
        match self {
            Self::Get => get,
            Self::Post => *method == Method::POST,
            Self::GetAndPost => get || *method == Method::POST,
        }
    }
}

impl Route<'_> {
    pub(crate) const fn methods(&self) -> Methods {
        match self {
            Self::Infer(_)
            | Self::Later(
                Later::Generate
                | Later::RepositoryIndex
                | Later::RepositoryControl
                | Later::SharedMemoryChange,
            ) => Methods::Post,
            Self::Later(Later::TraceSettings | Later::LogSettings) => Methods::GetAndPost,
            _ => Methods::Get,
        }
    }

    pub(crate) const fn category(&self) -> Category {
        match self {
            Self::Live | Self::Ready | Self::ModelReady(_) => Category::Health,
            Self::ServerMetadata | Self::ModelMetadata(_) => Category::Metadata,
            Self::ModelConfig(_) => Category::ModelConfig,
            Self::Statistics | Self::ModelStatistics(_) => Category::Statistics,
            Self::Infer(_) | Self::Later(Later::Generate) => Category::Inference,
            Self::Later(Later::TraceSettings) => Category::Trace,
            Self::Later(Later::LogSettings) => Category::Logging,
            Self::Later(Later::RepositoryIndex | Later::RepositoryControl) => Category::ModelRepository,
            Self::Later(Later::SharedMemoryStatus | Later::SharedMemoryChange) => Category::SharedMemory,
        }
    }
}

/// No path of the protocol has more segments.
const SEGMENTS_MAX: usize = 9;

/// Finds the route of a path.
pub(crate) fn route(path: &str) -> Option<Route<'_>> {
    let mut buffer = [""; SEGMENTS_MAX];
    let mut count = 0;
    for segment in path.strip_prefix('/')?.split('/') {
        *buffer.get_mut(count)? = segment;
        count += 1;
    }
    match &buffer[..count] {
        ["v2"] => Some(Route::ServerMetadata),
        ["v2", "health", "live"] => Some(Route::Live),
        ["v2", "health", "ready"] => Some(Route::Ready),
        // Taken before any model of that name.
        ["v2", "models", "stats"] => Some(Route::Statistics),
        ["v2", "models", name, "versions", version, rest @ ..] if is_version(version) => {
            model(name, version, rest)
        }
        ["v2", "models", name, rest @ ..] => model(name, "", rest),
        ["v2", "logging"] => Some(Route::Later(Later::LogSettings)),
        ["v2", "trace", "setting"] => Some(Route::Later(Later::TraceSettings)),
        ["v2", "repository", rest @ ..] => repository(rest),
        ["v2", "systemsharedmemory" | "cudasharedmemory", rest @ ..] => shared_memory(rest),
        _ => None,
    }
}

fn is_version(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

fn model<'a>(name: &'a str, version: &'a str, rest: &[&str]) -> Option<Route<'a>> {
    if name.is_empty() {
        return None;
    }
    let path = ModelPath { name, version };
    match rest {
        [] => Some(Route::ModelMetadata(path)),
        ["ready"] => Some(Route::ModelReady(path)),
        ["config"] => Some(Route::ModelConfig(path)),
        ["stats"] => Some(Route::ModelStatistics(path)),
        ["infer"] => Some(Route::Infer(path)),
        ["generate" | "generate_stream"] => Some(Route::Later(Later::Generate)),
        // Settings belong to a model, not to a version.
        ["trace", "setting"] if version.is_empty() => Some(Route::Later(Later::TraceSettings)),
        _ => None,
    }
}

fn repository(rest: &[&str]) -> Option<Route<'static>> {
    match rest {
        ["index"] => Some(Route::Later(Later::RepositoryIndex)),
        [repository, "index"] if !repository.is_empty() => Some(Route::Later(Later::RepositoryIndex)),
        ["models", model, "load" | "unload"] if !model.is_empty() => {
            Some(Route::Later(Later::RepositoryControl))
        }
        [repository, "models", model, "load" | "unload"] if !repository.is_empty() && !model.is_empty() => {
            Some(Route::Later(Later::RepositoryControl))
        }
        _ => None,
    }
}

fn shared_memory(rest: &[&str]) -> Option<Route<'static>> {
    let action = match rest {
        [action] => action,
        ["region", region, action] if !region.is_empty() => action,
        _ => return None,
    };
    match *action {
        "status" => Some(Route::Later(Later::SharedMemoryStatus)),
        "register" | "unregister" => Some(Route::Later(Later::SharedMemoryChange)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
