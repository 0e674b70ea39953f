use super::*;

#[test]
fn kinds_and_devices_fit() {
    refuses(&[
        (
            "instance_group { kind: KIND_MODEL gpus: 0 }",
            "instance group m_0 of model m has kind KIND_MODEL but specifies one or more GPUs",
        ),
        (
            "instance_group { name: 'g' kind: KIND_CPU gpus: 0 }",
            "instance group g of model m has kind KIND_CPU but specifies one or more GPUs",
        ),
        (
            "instance_group { kind: KIND_GPU }",
            "instance group m_0 of model m has kind KIND_GPU but no GPUs are available",
        ),
        (
            "instance_group { kind: KIND_GPU gpus: 42 }",
            "instance group m_0 of model m specifies invalid or unsupported gpu id 42. GPUs with at least the minimum \
             required CUDA compute compatibility of 7.500000 are: ",
        ),
    ]);
    refuses_with(
        BASE,
        &facts(&[0, 2]),
        &[(
            "instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }",
            "instance group m_0 of model m specifies invalid or unsupported gpu id 1. GPUs with at least the minimum \
             required CUDA compute compatibility of 7.500000 are: 0, 2",
        )],
    );
    refuses_with(
        BASE,
        &ServerFacts { supports_gpus: false, ..facts(&[]) },
        &[(
            "instance_group { kind: KIND_GPU gpus: 0 }",
            "instance group m_0 of model m has kind KIND_GPU but server does not support GPUs",
        )],
    );
    accepts(
        BASE,
        &facts(&[0, 2]),
        &["instance_group { kind: KIND_GPU gpus: [ 0, 2 ] } instance_group { kind: KIND_CPU }"],
    );
}

#[test]
fn groups_are_normalised_before_they_are_checked() {
    let mut raw = completed(BASE, &facts(&[0]));
    raw.instance_group[0].gpus.clear();
    assert_eq!(
        messages(&raw, &facts(&[0])),
        ["instance group m of model m has kind KIND_GPU but specifies no GPUs"]
    );
    raw.instance_group[0].kind = 0;
    let error = validate(&raw, &facts(&[0])).unwrap_err();
    assert_eq!(error, ServeError::internal("instance group m of model m has unexpected kind KIND_AUTO"));
    raw.instance_group.clear();
    assert_eq!(messages(&raw, &facts(&[0])), ["must specify one or more 'instance group's for m"]);
}

#[test]
fn profiles_are_numbers_and_tensorrt_s() {
    refuses(&[(
        "instance_group { profile: '1' }",
        "instance group m_0 of model m and platform specifies profile field which is only supported for TensorRT \
         models",
    )]);
    let tensorrt = "name: 'm' backend: 'tensorrt' platform: 'tensorrt_plan'";
    refuses_with(
        tensorrt,
        &facts(&[]),
        &[(
            "instance_group { profile: [ '0', '-1' ] }",
            "instance group m_0 of model m and platform tensorrt_plan specifies invalid profile -1. The field should \
             contain the string representation of a non-negative integer.",
        )],
    );
    accepts(tensorrt, &facts(&[]), &["instance_group { profile: [ '0', '11' ] }"]);
}

#[test]
fn there_is_a_limit_to_instances() {
    refuses(&[(
        "instance_group { count: 4000 } instance_group { count: 97 }",
        "the instance groups of model m ask for 4097 instances; the limit is 4096",
    )]);
}
