//! Which wishes are refused, which are ignored aloud.

use nereid_core::config::normalise::{normalise, normalise_instance_groups};
use nereid_core::config::{ServerFacts, pbtxt};

use super::*;

fn checked(further: &str) -> Result<Vec<String>, String> {
    let text = format!("name: 'm' backend: 'echo' max_batch_size: 2 {further}");
    let mut raw = pbtxt::parse(&text).unwrap();
    normalise(&mut raw);
    normalise_instance_groups(&mut raw, &ServerFacts::default(), &[]);
    check(&ModelConfig::new(raw, &ServerFacts::default()).unwrap()).map_err(|error| error.message)
}

#[test]
fn what_would_change_answers_or_guards_is_refused_by_name() {
    for (further, name) in [
        ("sequence_batching {}", "sequence_batching"),
        ("model_repository_agents { agents [ { name: 'checksum' } ] }", "model_repository_agents"),
        (
            "parameters { key: 'TRITON_BATCH_STRATEGY_PATH' value { string_value: 'x.so' } }",
            "TRITON_BATCH_STRATEGY_PATH",
        ),
    ] {
        let expected = format!("model 'm' asks for {name}, which this version of Nereid does not serve");
        assert_eq!(checked(further), Err(expected));
    }
}

#[test]
fn what_only_tunes_is_ignored_aloud() {
    let said = |names: &[&str]| {
        Ok(names.iter().map(|name| format!("{name} has no effect in this version of Nereid")).collect())
    };
    assert_eq!(checked(""), said(&[]));
    assert_eq!(
        checked("model_warmup { name: 'w' batch_size: 1 } dynamic_batching { preserve_ordering: true }"),
        said(&["model_warmup", "dynamic_batching.preserve_ordering"])
    );
    assert_eq!(checked("response_cache { enable: true }"), said(&["response_cache"]));
}
