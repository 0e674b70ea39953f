use super::*;

fn plain(name: &str) -> ModelPath<'_> {
    ModelPath { name, version: "" }
}

#[test]
fn paths_of_the_protocol_are_found() {
    let versioned = ModelPath { name: "m", version: "12" };
    let table = [
        ("/v2", Route::ServerMetadata),
        ("/v2/health/live", Route::Live),
        ("/v2/health/ready", Route::Ready),
        ("/v2/models/stats", Route::Statistics),
        ("/v2/models/m", Route::ModelMetadata(plain("m"))),
        ("/v2/models/m/versions/12", Route::ModelMetadata(versioned)),
        ("/v2/models/m/ready", Route::ModelReady(plain("m"))),
        ("/v2/models/m/versions/12/ready", Route::ModelReady(versioned)),
        ("/v2/models/m/config", Route::ModelConfig(plain("m"))),
        ("/v2/models/m/stats", Route::ModelStatistics(plain("m"))),
        ("/v2/models/stats/stats", Route::ModelStatistics(plain("stats"))),
        ("/v2/models/versions/infer", Route::Infer(plain("versions"))),
        ("/v2/models/m/versions/12/infer", Route::Infer(versioned)),
        ("/v2/models/a%2Fb/infer", Route::Infer(plain("a%2Fb"))),
        ("/v2/models/m/generate", Route::Later(Later::Generate)),
        ("/v2/models/m/versions/12/generate_stream", Route::Later(Later::Generate)),
        ("/v2/models/m/trace/setting", Route::Later(Later::TraceSettings)),
        ("/v2/trace/setting", Route::Later(Later::TraceSettings)),
        ("/v2/logging", Route::Later(Later::LogSettings)),
        ("/v2/repository/index", Route::Later(Later::RepositoryIndex)),
        ("/v2/repository/r/index", Route::Later(Later::RepositoryIndex)),
        ("/v2/repository/models/m/load", Route::Later(Later::RepositoryControl)),
        ("/v2/repository/r/models/m/unload", Route::Later(Later::RepositoryControl)),
        ("/v2/systemsharedmemory/status", Route::Later(Later::SharedMemoryStatus)),
        ("/v2/systemsharedmemory/region/r/register", Route::Later(Later::SharedMemoryChange)),
        ("/v2/cudasharedmemory/unregister", Route::Later(Later::SharedMemoryChange)),
    ];
    for (path, expected) in table {
        assert_eq!(route(path), Some(expected), "{path}");
    }
}

#[test]
fn other_paths_are_not_found() {
    for path in [
        "",
        "/",
        "v2",
        "/v2/",
        "/v3",
        "/v2/health",
        "/v2/health/live/",
        "/v2/health/other",
        "/v2/models",
        "/v2/models/",
        "/v2/models//infer",
        "/v2/models/m/",
        "/v2/models/m/versions",
        "/v2/models/m/versions/",
        "/v2/models/m/versions/1/",
        "/v2/models/m/versions/x/infer",
        "/v2/models/m/versions/1/trace/setting",
        "/v2/models/m/infer/more",
        "/v2/repository//index",
        "/v2/repository/models/m/reload",
        "/v2/systemsharedmemory/region//register",
        "/v2/a/b/c/d/e/f/g/h/i/j/k/l",
    ] {
        assert_eq!(route(path), None, "{path}");
    }
}

#[test]
fn every_route_tells_its_methods_and_its_restriction() {
    let infer = route("/v2/models/m/infer").unwrap();
    assert!(infer.methods().contain(&Method::POST) && !infer.methods().contain(&Method::GET));
    assert_eq!(infer.category(), Category::Inference);
    let ready = route("/v2/models/m/ready").unwrap();
    assert!(ready.methods().contain(&Method::GET) && ready.methods().contain(&Method::HEAD));
    assert!(!ready.methods().contain(&Method::POST));
    assert_eq!(ready.category(), Category::Health);
    assert!(route("/v2/logging").unwrap().methods().contain(&Method::POST));
}
