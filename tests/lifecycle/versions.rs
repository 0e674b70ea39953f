//! Which versions of a model are served.

use std::fs;

use harness::repository::Repository;
use harness::server::Server;
use serde_json::json;

fn server_with_versions(policy: &str) -> Server {
    let repository = Repository::new();
    repository.add_echo("echo", 1, policy);
    for version in ["2", "10"] {
        fs::create_dir_all(repository.path().join("echo").join(version)).expect("writable");
    }
    Server::start(repository)
}

#[test]
fn the_latest_version_is_served_by_default() {
    let server = server_with_versions("");
    assert_eq!(server.get("/v2/models/echo").json()["versions"], json!(["10"]));
    assert_eq!(server.get("/v2/models/echo/versions/2/ready").status, 404);
}

#[test]
fn all_versions_can_be_served() {
    let server = server_with_versions("version_policy { all {} }");
    let body = server.get("/v2/models/echo").json();
    let mut versions: Vec<String> =
        serde_json::from_value(body["versions"].clone()).expect("a list of strings");
    versions.sort_by_key(|version| version.parse::<u64>().ok());
    assert_eq!(versions, ["1", "2", "10"]);
    for version in versions {
        let path = format!("/v2/models/echo/versions/{version}/infer");
        let body = json!({"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1]}]});
        let response = server.client().post(&path, &body).expect("an answer");
        assert_eq!(response.json()["model_version"], version);
    }
}

#[test]
fn the_named_versions_are_served() {
    let server = server_with_versions("version_policy { specific { versions: [ 1, 2 ] } }");
    for (version, status) in [("1", 200), ("2", 200), ("10", 404)] {
        assert_eq!(
            server.get(&format!("/v2/models/echo/versions/{version}/ready")).status,
            status,
            "{version}"
        );
    }
    // Without a version the newest that is served.
    let body = json!({"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1]}]});
    let response = server.client().post("/v2/models/echo/infer", &body).expect("an answer");
    assert_eq!(response.json()["model_version"], "2");
}
