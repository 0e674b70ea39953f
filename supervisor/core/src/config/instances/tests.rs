use super::*;
use crate::config::pbtxt;

#[test]
fn instances_carry_what_their_group_says() {
    let raw = pbtxt::parse(
        r#"instance_group { name: "a" kind: KIND_CPU count: 1 passive: true }
           instance_group { name: "b" kind: KIND_GPU count: 2 gpus: [ 3, 4 ] profile: "1" }"#,
    )
    .unwrap();
    let all = instances(&raw);
    let devices: Vec<(usize, i32, Kind)> =
        all.iter().map(|one| (one.group, one.device_id(), one.kind())).collect();
    assert_eq!(
        devices,
        [(0, 0, Kind::Cpu), (1, 3, Kind::Gpu), (1, 4, Kind::Gpu), (1, 3, Kind::Gpu), (1, 4, Kind::Gpu)]
    );
    assert!(all[0].passive && !all[1].passive);
    assert_eq!((all[1].name.as_str(), all[2].name.as_str(), all[3].name.as_str()), ("b_0", "b_0", "b_1"));
    assert_eq!(all[4].profiles, ["1"]);
}

#[test]
fn there_is_a_limit_to_instances() {
    let raw = pbtxt::parse("instance_group { kind: KIND_CPU count: 2147483647 }").unwrap();
    assert_eq!(instances(&raw).len(), MAX_INSTANCES);
}
