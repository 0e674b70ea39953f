use super::*;
use crate::config::{instances::instances, pbtxt};

fn facts(gpus: &[i32]) -> ServerFacts {
    ServerFacts { gpus: gpus.to_vec(), ..Default::default() }
}

fn normalised(text: &str) -> RawConfig {
    let mut raw = pbtxt::parse(text).unwrap();
    normalise(&mut raw);
    raw
}

#[test]
fn defaults_are_written_out() {
    let expected = r#"
        version_policy { latest { num_versions: 1 } }
        optimization { input_pinned_memory { enable: true } output_pinned_memory { enable: true } } "#;
    assert_eq!(normalised(""), pbtxt::parse(expected).unwrap());
    assert_eq!(
        normalised("max_batch_size: 4 dynamic_batching {}").scheduling_choice,
        pbtxt::parse("dynamic_batching { preferred_batch_size: 4 }").unwrap().scheduling_choice
    );
    assert_eq!(
        normalised("max_batch_size: 4 sequence_batching { oldest {} }").scheduling_choice,
        pbtxt::parse(
            "sequence_batching { max_sequence_idle_microseconds: 1000000 oldest { preferred_batch_size: 4 } }"
        )
        .unwrap()
        .scheduling_choice
    );
}

#[test]
fn what_is_given_stays() {
    let text = r#"version_policy { all {} } max_batch_size: 4 dynamic_batching { preferred_batch_size: 2 }
        optimization { input_pinned_memory { enable: false } output_pinned_memory { enable: false } }"#;
    assert_eq!(normalised(text), pbtxt::parse(text).unwrap());
    let sequence = "sequence_batching { max_sequence_idle_microseconds: 5 direct {} }";
    assert_eq!(normalised(sequence).scheduling_choice, pbtxt::parse(sequence).unwrap().scheduling_choice);
    assert_eq!(
        normalised("dynamic_batching {}").scheduling_choice,
        pbtxt::parse("dynamic_batching {}").unwrap().scheduling_choice
    );
}

#[test]
fn an_ensemble_gets_no_optimization_and_no_instances() {
    let mut raw = normalised("ensemble_scheduling {}");
    normalise_instance_groups(&mut raw, &facts(&[]), &[]);
    assert_eq!(raw.optimization, None);
    assert!(raw.instance_group.is_empty());
    assert!(raw.version_policy.is_some());
}

/// Instance names with their places, for a model named "m".
fn placed(text: &str, gpus: &[i32], preferred: &str) -> Vec<String> {
    let mut raw = pbtxt::parse(&format!("name: 'm' {text}")).unwrap();
    let preferred = pbtxt::parse(preferred).unwrap().instance_group;
    normalise_instance_groups(&mut raw, &facts(gpus), &preferred);
    instances(&raw).iter().map(|one| format!("{}@{}", one.name, one.host_policy)).collect()
}

#[test]
fn groups_get_names_kinds_counts_and_devices() {
    let cases: [(&str, &[i32], &[&str]); 13] = [
        ("", &[], &["m_0@cpu"]),
        ("", &[0, 1], &["m_0@gpu_0", "m_0@gpu_1"]),
        ("backend: 'onnxruntime'", &[], &["m_0@cpu", "m_1@cpu"]),
        ("backend: 'tensorflow'", &[], &["m_0@cpu", "m_1@cpu"]),
        ("backend: 'onnxruntime'", &[0], &["m_0@gpu_0"]),
        ("backend: 'onnxruntime' instance_group { kind: KIND_CPU count: 1 }", &[0], &["m_0_0@cpu"]),
        ("instance_group {} instance_group { count: 2 }", &[], &["m_0_0@cpu", "m_1_0@cpu", "m_1_1@cpu"]),
        ("instance_group { name: 'g' kind: KIND_MODEL count: 2 }", &[], &["g_0@model", "g_1@model"]),
        ("instance_group { gpus: [ 1 ] }", &[0, 1], &["m_0_0@gpu_1"]),
        ("instance_group { gpus: [ 7 ] }", &[0, 1], &["m_0_0@cpu"]),
        ("instance_group { count: -3 }", &[], &["m_0_0@cpu"]),
        ("instance_group { host_policy: 'p' }", &[], &["m_0_0@p"]),
        ("instance_group { kind: KIND_GPU }", &[], &[]),
    ];
    for (text, gpus, expected) in cases {
        assert_eq!(placed(text, gpus, ""), expected, "{text} {gpus:?}");
    }
}

#[test]
fn a_backend_may_prefer_groups_of_its_own() {
    let cases: [(&str, &[i32], &str, &[&str]); 6] = [
        (
            "",
            &[],
            "instance_group { kind: KIND_GPU } instance_group { kind: KIND_CPU count: 3 }",
            &["m_0@cpu", "m_1@cpu", "m_2@cpu"],
        ),
        ("", &[0, 1], "instance_group { kind: KIND_GPU gpus: [ 1, 5 ] }", &["m_0@gpu_1"]),
        ("", &[], "instance_group { kind: KIND_MODEL }", &["m_0@model"]),
        (
            "instance_group { kind: KIND_CPU }",
            &[],
            "instance_group { kind: KIND_CPU count: 2 }",
            &["m_0_0@cpu", "m_0_1@cpu"],
        ),
        (
            "instance_group { kind: KIND_GPU }",
            &[0, 1],
            "instance_group { kind: KIND_GPU gpus: 0 }",
            &["m_0_0@gpu_0"],
        ),
        (
            "instance_group { kind: KIND_CPU count: 1 }",
            &[],
            "instance_group { kind: KIND_CPU count: 2 }",
            &["m_0_0@cpu"],
        ),
    ];
    for (text, gpus, preferred, expected) in cases {
        assert_eq!(placed(text, gpus, preferred), expected, "{text} {gpus:?} {preferred}");
    }
}
