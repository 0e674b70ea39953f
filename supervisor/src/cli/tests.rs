//! Command lines and what they mean.

use super::*;

fn line(text: &str) -> Vec<OsString> {
    text.split(' ').map(OsString::from).collect()
}

fn options(text: &str) -> Options {
    let repository = if text.contains("--model-") { "" } else { " --model-repository=/m" };
    match parse(line(&format!("{text}{repository}"))).unwrap() {
        Command::Serve(options) => *options,
        Command::Print(text) => panic!("printed {text}"),
    }
}

fn error(text: &str) -> String {
    parse(line(text)).unwrap_err().to_string()
}

#[test]
fn defaults_are_tritons_but_for_exit_on_error() {
    let options = options("nereid serve --model-repository /m");
    assert_eq!(options.id, "triton");
    assert_eq!(options.http.unwrap().address.to_string(), "0.0.0.0:8000");
    assert_eq!(options.grpc.unwrap().address.to_string(), "0.0.0.0:8001");
    assert_eq!(options.metrics.unwrap().to_string(), "0.0.0.0:8002");
    assert!(
        options.strict_readiness && options.repository.auto_complete && !options.repository.exit_on_error
    );
}

#[test]
fn under_the_name_tritonserver_it_serves_without_being_told() {
    let options =
        options("/opt/tritonserver/bin/tritonserver --model-store=/m --log-verbose=1 --http-port 9000");
    assert_eq!(options.levels.verbose, 1);
    assert_eq!(options.http.unwrap().address.port, 9000);
    assert_eq!(options.repository.paths, [Path::new("/m")]);
}

#[test]
fn booleans_are_words_and_numbers_in_any_case() {
    assert!(options("nereid serve --allow-http OFF").http.is_none());
    assert!(options("nereid serve --allow-grpc=0").grpc.is_none());
    let text = error("nereid serve --allow-grpc=maybe");
    assert_eq!(text, "Bad option: \"--allow-grpc\".\ninvalid value for bool option: maybe");
}

#[test]
fn numbers_that_cannot_be_are_named() {
    let text = error("nereid serve --http-port x1");
    assert_eq!(text, "Bad option: \"--http-port\".\nInvalid option value. Got x1");
    let text = error("nereid serve --http-port=65536");
    assert_eq!(text, "Bad option: \"--http-port\".\nProvided option value is out of bound. Got 65536");
}

#[test]
fn a_flag_may_be_cut_short_while_it_is_clear() {
    assert_eq!(options("nereid serve --http-po 9000").http.unwrap().address.port, 9000);
    assert!(error("nereid serve --http 9000").contains("--http"));
}

#[test]
fn the_last_of_a_flag_given_twice_wins_and_repositories_add_up() {
    let options =
        options("nereid serve --http-port 1 --http-port 2 --model-repository /b --model-repository /a");
    assert_eq!(options.http.unwrap().address.port, 2);
    assert_eq!(options.repository.paths, [Path::new("/a"), Path::new("/b")]);
}

#[test]
fn stray_words_and_unknown_flags_are_errors() {
    assert_eq!(error("nereid serve stray"), "Unexpected argument: stray");
    assert!(error("nereid serve --no-such-flag").contains("--no-such-flag"));
    assert!(error("nereid fly").contains("unknown command 'fly'"));
}

#[test]
fn two_endpoints_cannot_share_an_address() {
    assert_eq!(
        error("nereid serve --grpc-port 8000"),
        "The server cannot listen to HTTP requests and GRPC requests at the same address and port 0.0.0.0:8000"
    );
}

#[test]
fn a_flag_that_would_change_who_may_ask_is_refused_until_it_is_served() {
    assert!(error("nereid serve --grpc-use-ssl true").contains("--grpc-use-ssl is not served"));
    assert!(options("nereid serve --grpc-use-ssl=false").warnings.is_empty());
}

#[test]
fn a_flag_that_only_tunes_is_named_in_the_log() {
    let options = options("nereid serve --http-thread-count 8");
    assert_eq!(options.warnings, ["--http-thread-count has no effect in this version of Nereid"]);
}

#[test]
fn backend_settings_are_for_one_backend_or_for_all() {
    let options =
        options("nereid serve --backend-config python,a=b --backend-config=default-max-batch-size=8");
    let text = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
    assert_eq!(
        options.repository.backend_config,
        [text("python", "a", "b"), text("", "default-max-batch-size", "8")]
    );
    assert!(error("nereid serve --backend-config ,a=b").contains("No backend specified."));
    assert!(error("nereid serve --backend-config python,a").contains("option format is"));
}

#[test]
fn restricted_apis_are_checked() {
    assert!(error("nereid serve --http-restricted-api nope:k=v").contains("unknown restricted api 'nope' "));
    assert!(
        error("nereid serve --http-restricted-api health:k=v --http-restricted-api health:k=w")
            .contains("can not be specified in multiple config groups")
    );
    assert!(error("nereid serve --grpc-restricted-protocol health").contains("Got health"));
}

#[test]
fn an_input_size_of_nothing_is_refused() {
    assert_eq!(
        error("nereid serve --http-max-input-size 0"),
        "Error: --http-max-input-size must be greater than 0."
    );
}

#[test]
fn help_and_version_are_printed() {
    assert!(
        matches!(parse(line("nereid --version")).unwrap(), Command::Print(text) if text.starts_with("nereid "))
    );
    assert!(
        matches!(parse(line("nereid serve --help")).unwrap(), Command::Print(text) if text.contains("--http-port"))
    );
}

#[test]
fn sizes_with_which_nothing_could_be_served_are_refused() {
    for flags in ["--max-inflight-bytes 0", "--arena-byte-size 1000", "--model-load-timeout-secs 0"] {
        assert!(error(&format!("nereid serve {flags}")).contains("must be at least"), "{flags}");
    }
}

#[test]
fn a_server_without_a_repository_does_not_start() {
    assert!(error("nereid serve").contains("--model-repository must be given"));
}
