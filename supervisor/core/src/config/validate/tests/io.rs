use super::*;

/// Checks a tensor's mistake as an input and as an output.
fn tensor_refused(base: &str, content: &str, expected: &str) {
    for direction in ["input", "output"] {
        let text = format!("{direction} {{ {content} }}");
        let expected = expected.replace("{d}", direction);
        refuses_with(base, &facts(&[]), &[(&text, &expected)]);
    }
}

#[test]
fn tensors_have_a_name_a_type_and_dims() {
    let cases = [
        ("data_type: TYPE_INT8 dims: 1", "model {d} must specify 'name' for m"),
        ("name: 'x' dims: 1", "model {d} 'x' must specify 'data_type' for m"),
        ("name: 'x' data_type: TYPE_INT8", "model {d} 'x' must specify 'dims' for m"),
    ];
    for (content, expected) in cases {
        tensor_refused(BASE, content, expected);
    }
    for dim in ["0", "-2"] {
        tensor_refused(
            BASE,
            &format!("name: 'x' data_type: TYPE_INT8 dims: [ 1, {dim} ]"),
            "model {d} 'x' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m",
        );
    }
}

#[test]
fn what_no_worker_takes_is_refused() {
    let tensor = |name: &str, dims: usize| {
        format!("name: '{name}' data_type: TYPE_INT8 dims: [ {} ]", vec!["1"; dims].join(", "))
    };
    tensor_refused(
        BASE,
        &tensor("x", 64),
        "model {d} 'x' has 64 dims, the limit is 63; join some of them for m",
    );
    let reshape = format!("{} reshape {{ shape: [ {} ] }}", tensor("x", 1), vec!["1"; 64].join(", "));
    tensor_refused(
        BASE,
        &reshape,
        "model {d} 'x' has 64 reshape dims, the limit is 63; join some of them for m",
    );
    let start = "n".repeat(64);
    tensor_refused(
        BASE,
        &tensor(&"n".repeat(1025), 1),
        &format!("model {{d}} '{start}...' has a name of 1025 bytes, the limit is 1024; shorten it for m"),
    );
    accepts(BASE, &facts(&[]), &[&format!("input {{ {} }}", tensor(&"n".repeat(1024), 63))]);
}

#[test]
fn a_reshape_keeps_the_elements() {
    let size = "model {d} 'x' has different size for dims and reshape for m";
    let number = "model {d} 'x' has different number of variable-size dimensions for dims and reshape for m";
    let cases = [
        ("dims: 4 reshape { shape: [ 2, 3 ] }", size),
        ("dims: [ 1, 4 ] reshape {}", size),
        ("dims: -1 reshape { shape: 4 }", size),
        ("dims: 4 reshape { shape: -1 }", size),
        ("dims: -1 reshape {}", size),
        ("dims: [ 2, 4, -1, 6 ] reshape { shape: [ 8, -1, 3, 3 ] }", size),
        ("dims: [ -1, 2 ] reshape { shape: [ 2, -1 ] }", size),
        ("dims: [ -1, -1 ] reshape { shape: -1 }", number),
    ];
    for (content, expected) in cases {
        tensor_refused(BASE, &format!("name: 'x' data_type: TYPE_INT8 {content}"), expected);
    }
    let texts = [
        "dims: 4 reshape { shape: [ 2, 2 ] }",
        "dims: 1 reshape {}",
        "dims: [ 1, 1 ] reshape {}",
        "dims: [ 2, 4, -1, 6 ] reshape { shape: [ 8, -1, 1, 6 ] }",
        "dims: [ -1, -1 ] reshape { shape: [ 1, -1, -1 ] }",
    ];
    for content in texts {
        let tensor = format!("{{ name: 'x' data_type: TYPE_INT8 {content} }}");
        accepts(BASE, &facts(&[]), &[&format!("input {tensor} output {tensor}")]);
    }
}

#[test]
fn reshapes_have_proper_dimensions_and_scalars_need_batching() {
    let raw = completed(
        &format!("{BASE} input {{ name: 'x' data_type: TYPE_INT8 dims: 1 reshape {{ shape: 0 }} }}"),
        &facts(&[]),
    );
    assert_eq!(
        validate(&raw, &facts(&[])).unwrap_err().message,
        "model input 'x' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension for m"
    );
    tensor_refused(
        "name: 'm' backend: 'b'",
        "name: 'x' data_type: TYPE_INT8 dims: 1 reshape {}",
        "model {d} 'x' cannot have empty reshape for non-batching model as scalar tensors are not supported for m",
    );
}

#[test]
fn special_layouts_belong_to_some_platforms() {
    refuses(&[
        (
            "input { name: 'x' data_type: TYPE_INT8 dims: [ 1, 2 ] format: FORMAT_NHWC }",
            "model input NHWC/NCHW require 3 dims for m",
        ),
        (
            "input { name: 'x' data_type: TYPE_INT8 dims: [ 1, 2, 3, 4 ] format: FORMAT_NCHW }",
            "model input NHWC/NCHW require 3 dims for m",
        ),
    ]);
    tensor_refused(
        BASE,
        "name: 'x' data_type: TYPE_INT8 dims: 1 is_shape_tensor: true",
        "shape tensors are only supported for TensorRT platform for m",
    );
    tensor_refused(
        BASE,
        "name: 'x' data_type: TYPE_INT8 dims: [ 1, 2, 3 ] is_non_linear_format_io: true",
        "Non-linear IO format is only supported for the TensorRT platform for m",
    );
    let tensorrt = "name: 'm' backend: 'tensorrt' platform: 'tensorrt_plan'";
    tensor_refused(
        tensorrt,
        "name: 'x' data_type: TYPE_INT8 dims: [ 1, 2 ] is_non_linear_format_io: true",
        "Non-linear IO format {d} requires 3 dims for m",
    );
    accepts(
        tensorrt,
        &facts(&[]),
        &[
            "input { name: 'x' data_type: TYPE_INT8 dims: [ 1, 2, 3 ] is_non_linear_format_io: true }",
            "input { name: 'x' data_type: TYPE_INT32 dims: 1 is_shape_tensor: true }",
            "input { name: 'x' data_type: TYPE_INT32 dims: [ 1, 2, 3 ] format: FORMAT_NHWC }",
        ],
    );
}

#[test]
fn inputs_and_outputs_of_a_whole_batch_refer_to_others() {
    let tensors = format!(
        "{BASE} input {{ name: 'i' data_type: TYPE_INT8 dims: 1 }} output {{ name: 'o' data_type: TYPE_INT8 dims: 1 }}"
    );
    let rows = [
        (
            "batch_input { kind: BATCH_ELEMENT_COUNT target_name: 't' data_type: TYPE_INT32 }",
            "batch input kind 'BATCH_ELEMENT_COUNT' expects 1 source input, got 0 for m",
        ),
        (
            "batch_input { kind: BATCH_ITEM_SHAPE data_type: TYPE_FP32 source_input: [ 'i', 'i' ] }",
            "batch input kind 'BATCH_ITEM_SHAPE' expects 1 source input, got 2 for m",
        ),
        (
            "batch_input { data_type: TYPE_INT64 source_input: 'i' }",
            "batch input data type must be TYPE_INT32 or TYPE_FP32 for m",
        ),
        ("batch_input { data_type: TYPE_INT32 source_input: 'x' }", "unknown source input name 'x' for m"),
        (
            "batch_output { target_name: 'o' }",
            "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, got 0 for m",
        ),
        ("batch_output { target_name: 'o' source_input: 'x' }", "unknown source input name 'x' for m"),
        ("batch_output { target_name: 'x' source_input: 'i' }", "unknown target output name 'x' for m"),
        (
            "batch_output { target_name: [ 'o', 'o' ] source_input: 'i' }",
            "target output name 'o' can only be specified once for m",
        ),
    ];
    refuses_with(&tensors, &facts(&[]), &rows);
    accepts(
        &tensors,
        &facts(&[]),
        &[
            "batch_input { data_type: TYPE_FP32 source_input: 'i' } batch_output { target_name: 'o' source_input: 'i' }",
        ],
    );
}

#[test]
fn kinds_that_only_a_worker_could_invent_are_unknown() {
    let mut raw = completed(
        &format!(
            "{BASE} input {{ name: 'i' data_type: TYPE_INT8 dims: 1 }} batch_input {{ data_type: TYPE_FP32 source_input: 'i' }} batch_output {{ source_input: 'i' }}"
        ),
        &facts(&[]),
    );
    raw.batch_input[0].kind = 77;
    raw.batch_output[0].kind = 78;
    raw.input[0].data_type = 99;
    assert_eq!(
        messages(&raw, &facts(&[])),
        [
            "model input 'i' must specify 'data_type' for m",
            "unknown batch input kind '77' for m",
            "unknown batch output kind '78' for m"
        ]
    );
}
