//! Which limit a model has, and what a worker's end is put down to.

use nereid_proto::inference::ModelParameter;

use super::*;

fn model(limit: &str) -> ModelConfig {
    let limit = ModelParameter { string_value: limit.to_owned() };
    let parameters = [(LIMIT_PARAMETER.to_owned(), limit)].into();
    ModelConfig { name: "m".to_owned(), parameters, ..Default::default() }
}

#[test]
fn a_models_own_limit_comes_first_and_may_be_none() {
    assert_eq!(memory_limit(Some(5), &ModelConfig::default()).unwrap(), Some(5));
    assert_eq!(memory_limit(Some(5), &model("7")).unwrap(), Some(7));
    assert_eq!(memory_limit(Some(5), &model("0")).unwrap(), None);
    let error = memory_limit(None, &model("512 MiB")).unwrap_err();
    assert!(error.message.contains("'memory_limit_bytes' of model 'm' is '512 MiB'"), "{error}");
}

fn resources(limit: Option<u64>) -> Resources {
    Resources { pid: 0, limit, group: None, excess: Arc::default(), sampler: None, is_nice: false }
}

#[test]
fn only_a_kill_that_was_for_its_memory_is_put_down_to_it() {
    let (killed, exited) = (ExitStatus::from_raw(9), ExitStatus::from_raw(0));
    assert_eq!(resources(Some(100)).verdict(killed), None);
    let mut beyond = resources(Some(100));
    beyond.excess.set(123).unwrap();
    let cause = beyond.verdict(killed).unwrap();
    assert_eq!(cause.kind(), "memory");
    assert!(
        cause.to_string().contains("used 123 bytes of memory, more than its limit of 100 bytes"),
        "{cause}"
    );
    // It was faster.
    let mut faster = resources(Some(100));
    faster.excess.set(123).unwrap();
    assert_eq!(faster.verdict(exited), None);
}
