//! Batches through the real harness, the real library and real shared memory.

use crate::testing::{
    floats, longs, model,
    supervisor::{Answer, Ask, Data, Supervisor},
    texts,
};
use nereid_worker::{DataType, ErrorCode, proto::worker::Failure};

const ADD_SUB: &str = "
    max_batch_size: 8
    input { name: 'INPUT0' data_type: TYPE_FP32 dims: 16 }
    input { name: 'INPUT1' data_type: TYPE_FP32 dims: 16 }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 16 }
    output { name: 'OUTPUT1' data_type: TYPE_FP32 dims: 16 }";

fn loaded(file: &str, text: &str) -> Supervisor {
    let mut supervisor = Supervisor::start();
    supervisor.load(model(file, text)).unwrap_or_else(|failure| panic!("{}", failure.message));
    supervisor
}

fn ask(inputs: &[(&'static str, Data)]) -> Ask {
    Ask { inputs: inputs.to_vec(), outputs: Vec::new() }
}

fn rows(count: i64, value: f32) -> Data {
    let length = usize::try_from(count * 16).unwrap();
    floats(&[count, 16], &vec![value; length])
}

fn output<'a>(answer: &'a Answer, name: &str) -> &'a Data {
    let outputs = answer.as_ref().unwrap_or_else(|failure| panic!("{}", failure.message));
    outputs.get(name).unwrap_or_else(|| panic!("no {name} in {outputs:?}"))
}

fn failure(answer: &Answer) -> &Failure {
    answer.as_ref().unwrap_err()
}

#[test]
fn one_request_is_answered() {
    let mut supervisor = loaded("add_sub", ADD_SUB);
    let answers = supervisor.execute(&[ask(&[("INPUT0", rows(1, 3.0)), ("INPUT1", rows(1, 1.0))])]);
    assert_eq!(output(&answers[0], "OUTPUT0"), &rows(1, 4.0));
    assert_eq!(output(&answers[0], "OUTPUT1"), &rows(1, 2.0));
    supervisor.stop();
}

#[test]
fn each_request_of_a_batch_gets_its_rows() {
    let mut supervisor = loaded("add_sub", ADD_SUB);
    let asks: Vec<Ask> = [(1, 1.0), (3, 2.0), (2, 3.0)]
        .into_iter()
        .map(|(count, value)| ask(&[("INPUT0", rows(count, value)), ("INPUT1", rows(count, 10.0))]))
        .collect();
    let answers = supervisor.execute(&asks);
    assert_eq!(output(&answers[0], "OUTPUT0"), &rows(1, 11.0));
    assert_eq!(output(&answers[1], "OUTPUT0"), &rows(3, 12.0));
    assert_eq!(output(&answers[2], "OUTPUT1"), &rows(2, -7.0));
    supervisor.stop();
}

#[test]
fn the_order_of_the_inputs_does_not_matter() {
    let mut supervisor = loaded("add_sub", ADD_SUB);
    let answers = supervisor.execute(&[ask(&[("INPUT1", rows(1, 1.0)), ("INPUT0", rows(1, 3.0))])]);
    assert_eq!(output(&answers[0], "OUTPUT1"), &rows(1, 2.0));
    supervisor.stop();
}

#[test]
fn each_request_gets_only_the_outputs_that_it_wants() {
    let mut supervisor = loaded("add_sub", ADD_SUB);
    let mut asks = vec![ask(&[("INPUT0", rows(1, 3.0)), ("INPUT1", rows(1, 1.0))]); 3];
    asks[0].outputs = vec!["OUTPUT1"];
    asks[1].outputs = vec!["OUTPUT0"];
    let answers = supervisor.execute(&asks);
    let names = |answer: &Answer| answer.as_ref().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&answers[0]), ["OUTPUT1"]);
    assert_eq!(names(&answers[1]), ["OUTPUT0"]);
    assert_eq!(names(&answers[2]), ["OUTPUT0", "OUTPUT1"]);
    supervisor.stop();
}

#[test]
fn many_batches_reuse_the_memory() {
    let mut supervisor = loaded("add_sub", ADD_SUB);
    for round in 0..200_u8 {
        let value = f32::from(round);
        let answers = supervisor.execute(&[ask(&[("INPUT0", rows(2, value)), ("INPUT1", rows(2, 1.0))])]);
        assert_eq!(output(&answers[0], "OUTPUT0"), &rows(2, value + 1.0));
    }
    supervisor.stop();
}

fn identity(kind: &str) -> String {
    format!(
        "max_batch_size: 8
        input {{ name: 'INPUT' data_type: {kind} dims: -1 }}
        output {{ name: 'OUTPUT' data_type: {kind} dims: -1 }}"
    )
}

#[test]
fn every_element_type_goes_through() {
    for datatype in DataType::ALL {
        let file = match datatype {
            DataType::Bytes => "identity_string".to_owned(),
            other => format!("identity_{}", other.wire_name().to_lowercase()),
        };
        let mut supervisor = loaded(&file, &identity(datatype.config_name()));
        let data = |count: u8| match datatype.byte_size() {
            // Ones and zeros are numbers of every type, and booleans too.
            Some(size) => {
                let bytes = (0..usize::from(count) * 3 * size).map(|byte| u8::from(byte % 2 == 0)).collect();
                Data { datatype, shape: vec![i64::from(count), 3], bytes }
            }
            None => texts(&[i64::from(count), 3], &vec![&b"some text"[..]; usize::from(count) * 3]),
        };
        let asks = [ask(&[("INPUT", data(1))]), ask(&[("INPUT", data(2))])];
        let answers = supervisor.execute(&asks);
        assert_eq!(output(&answers[0], "OUTPUT"), &data(1), "{datatype}");
        assert_eq!(output(&answers[1], "OUTPUT"), &data(2), "{datatype}");
        supervisor.stop();
    }
}

#[test]
fn strings_of_any_bytes_keep_their_request() {
    let mut supervisor = loaded("identity_string", &identity("TYPE_STRING"));
    let first = texts(&[1, 2], &[b"", b"nul\0inside"]);
    let second = texts(&[2, 2], &[b"\xff\xfe", b"", b"", "höhe".as_bytes()]);
    let answers = supervisor.execute(&[ask(&[("INPUT", first.clone())]), ask(&[("INPUT", second.clone())])]);
    assert_eq!(output(&answers[0], "OUTPUT"), &first);
    assert_eq!(output(&answers[1], "OUTPUT"), &second);
    supervisor.stop();
}

#[test]
fn strings_that_end_too_early_fail_their_request_only() {
    let mut supervisor = loaded("identity_string", &identity("TYPE_STRING"));
    let mut cut = texts(&[1, 1], &[b"text"]);
    cut.bytes.pop();
    let answers = supervisor.execute(&[ask(&[("INPUT", cut)])]);
    assert!(failure(&answers[0]).message.contains("element 0"), "{answers:?}");
    let whole = texts(&[1, 1], &[b"text"]);
    let answers = supervisor.execute(&[ask(&[("INPUT", whole.clone())])]);
    assert_eq!(output(&answers[0], "OUTPUT"), &whole);
    supervisor.stop();
}

#[test]
fn tensors_without_elements_go_through() {
    let mut supervisor = loaded("identity_fp32", &identity("TYPE_FP32"));
    let answers = supervisor.execute(&[ask(&[("INPUT", floats(&[2, 0], &[]))])]);
    assert_eq!(output(&answers[0], "OUTPUT"), &floats(&[2, 0], &[]));
    supervisor.stop();
}

#[test]
fn large_tensors_make_the_arena_grow() {
    let mut supervisor = loaded("identity_fp32", &identity("TYPE_FP32"));
    let big = floats(&[1, 1 << 20], &vec![0.5; 1 << 20]);
    for _ in 0..3 {
        let answers = supervisor.execute(&[ask(&[("INPUT", big.clone())])]);
        assert_eq!(output(&answers[0], "OUTPUT"), &big);
    }
    supervisor.stop();
}

#[test]
fn an_output_of_unknown_size_is_copied() {
    let text = "
        input { name: 'INPUT' data_type: TYPE_FP32 dims: -1 }
        output { name: 'INDICES' data_type: TYPE_INT64 dims: [ 1, -1 ] }";
    let mut supervisor = loaded("non_zero", text);
    let answers = supervisor.execute(&[ask(&[("INPUT", floats(&[4], &[0.0, 5.0, 0.0, 7.0]))])]);
    assert_eq!(output(&answers[0], "INDICES"), &longs(&[1, 2], &[1, 3]));
    supervisor.stop();
}

#[test]
fn scalars_have_the_configured_shape() {
    let text = "
        input { name: 'INPUT' data_type: TYPE_FP32 dims: 3 }
        input { name: 'FACTOR' data_type: TYPE_FP32 dims: 1 }
        output { name: 'TOTAL' data_type: TYPE_FP32 dims: [ 1, 1 ] }";
    let mut supervisor = loaded("total", text);
    let asks = [ask(&[("INPUT", floats(&[3], &[1.0, 2.0, 3.0])), ("FACTOR", floats(&[1], &[10.0]))])];
    let answers = supervisor.execute(&asks);
    assert_eq!(output(&answers[0], "TOTAL"), &floats(&[1, 1], &[60.0]));
    supervisor.stop();
}

#[test]
fn models_without_a_batch_dimension_run_request_by_request() {
    let text = "
        input { name: 'INPUT' data_type: TYPE_FP32 dims: 2 }
        output { name: 'OUTPUT' data_type: TYPE_FP32 dims: 2 }";
    let mut supervisor = loaded("scale", text);
    let asks = [1.0, 2.0, 3.0].map(|value| ask(&[("INPUT", floats(&[2], &[value, 0.0]))]));
    let answers = supervisor.execute(&asks);
    for (answer, value) in answers.iter().zip([3.0, 6.0, 9.0]) {
        assert_eq!(output(answer, "OUTPUT"), &floats(&[2], &[value, 0.0]));
    }
    supervisor.stop();
}

#[test]
fn an_optional_input_may_be_absent_or_given() {
    let text = "
        input { name: 'INPUT' data_type: TYPE_FP32 dims: 2 }
        input { name: 'FACTOR' data_type: TYPE_FP32 dims: 1 optional: true }
        output { name: 'OUTPUT' data_type: TYPE_FP32 dims: 2 }";
    let mut supervisor = loaded("scale", text);
    let input = ("INPUT", floats(&[2], &[1.0, 2.0]));
    let answers = supervisor.execute(&[ask(std::slice::from_ref(&input))]);
    assert_eq!(output(&answers[0], "OUTPUT"), &floats(&[2], &[3.0, 6.0]));
    let answers = supervisor.execute(&[ask(&[input, ("FACTOR", floats(&[1], &[10.0]))])]);
    assert_eq!(output(&answers[0], "OUTPUT"), &floats(&[2], &[10.0, 20.0]));
    supervisor.stop();
}

#[test]
fn reshape_changes_shapes_both_ways() {
    let text = "
        max_batch_size: 8
        input { name: 'INPUT' data_type: TYPE_FP32 dims: 1 reshape { shape: [] } }
        output { name: 'OUTPUT' data_type: TYPE_FP32 dims: 1 reshape { shape: [] } }";
    let mut supervisor = loaded("double_column", text);
    let asks = [ask(&[("INPUT", floats(&[2, 1], &[1.0, 2.0]))]), ask(&[("INPUT", floats(&[1, 1], &[3.0]))])];
    let answers = supervisor.execute(&asks);
    assert_eq!(output(&answers[0], "OUTPUT"), &floats(&[2, 1], &[2.0, 4.0]));
    assert_eq!(output(&answers[1], "OUTPUT"), &floats(&[1, 1], &[6.0]));
    supervisor.stop();
}

#[test]
fn a_model_whose_declared_shapes_are_wrong_is_run_all_the_same() {
    let mut supervisor = loaded("liar", &identity("TYPE_FP32"));
    for _ in 0..3 {
        let answers = supervisor.execute(&[ask(&[("INPUT", floats(&[1, 2], &[1.0, 2.0]))])]);
        assert_eq!(output(&answers[0], "OUTPUT"), &floats(&[1, 4], &[1.0, 2.0, 1.0, 2.0]));
    }
    supervisor.stop();
}

#[test]
fn an_output_that_is_an_input_or_a_constant_is_answered() {
    let text = "
        input { name: 'INPUT' data_type: TYPE_FP32 dims: [ -1, 2 ] }
        output { name: 'OUTPUT' data_type: TYPE_FP32 dims: [ -1, 2 ] }
        output { name: 'CONSTANT' data_type: TYPE_FP32 dims: 3 }";
    let mut supervisor = loaded("passthrough", text);
    let answers = supervisor.execute(&[ask(&[("INPUT", floats(&[1, 2], &[1.0, 2.0]))])]);
    assert_eq!(output(&answers[0], "OUTPUT"), &floats(&[1, 2], &[1.0, 2.0]));
    assert_eq!(output(&answers[0], "CONSTANT"), &floats(&[3], &[10.0, 20.0, 30.0]));
    supervisor.stop();
}

#[test]
fn an_output_without_the_batchs_rows_is_an_error_that_says_so() {
    let text = "
        max_batch_size: 8
        input { name: 'INPUT' data_type: TYPE_FP32 dims: 2 }
        output { name: 'ROW' data_type: TYPE_FP32 dims: 2 }";
    let mut supervisor = loaded("first_row", text);
    let asks = [ask(&[("INPUT", floats(&[2, 2], &[0.0; 4]))]), ask(&[("INPUT", floats(&[1, 2], &[0.0; 2]))])];
    let answers = supervisor.execute(&asks);
    for answer in &answers {
        assert_eq!(
            failure(answer).message,
            "output 'ROW' of model 'first_row_model' has shape [1,2] for a batch of 3 rows: with max_batch_size \
             > 0 its first dimension must be the batch"
        );
    }
    supervisor.stop();
}

#[test]
fn a_failing_run_fails_its_batch_and_nothing_else() {
    let text = "
        max_batch_size: 8
        input { name: 'INDEX' data_type: TYPE_INT64 dims: 1 }
        output { name: 'ROW' data_type: TYPE_FP32 dims: 1 }";
    let mut supervisor = loaded("lookup", text);
    let good = ask(&[("INDEX", longs(&[1, 1], &[2]))]);
    let bad = ask(&[("INDEX", longs(&[1, 1], &[7]))]);
    let answers = supervisor.execute(&[good.clone(), bad]);
    for answer in &answers {
        assert!(failure(answer).message.starts_with("onnx runtime error 2: "), "{answer:?}");
        assert_eq!(failure(answer).code(), ErrorCode::Internal);
    }
    let answers = supervisor.execute(&[good.clone(), good]);
    assert_eq!(output(&answers[1], "ROW"), &floats(&[1, 1], &[30.0]));
    supervisor.stop();
}

#[test]
fn what_the_model_does_not_take_is_refused() {
    let mut supervisor = loaded("add_sub", ADD_SUB);
    let answers = supervisor.execute(&[ask(&[("INPUT9", rows(1, 3.0))])]);
    assert_eq!(failure(&answers[0]).message, "unexpected inference input 'INPUT9' for model 'add_sub_model'");
    let answers = supervisor.execute(&[ask(&[("INPUT0", longs(&[1, 16], &[0; 16]))])]);
    assert_eq!(
        failure(&answers[0]).message,
        "inference input 'INPUT0' data-type is 'INT64', but model 'add_sub_model' expects 'FP32'"
    );
    let answers = supervisor.execute(&[ask(&[("INPUT0", rows(1, 3.0))])]);
    assert!(failure(&answers[0]).message.contains("Missing Input: INPUT1"), "{answers:?}");
    supervisor.stop();
}

fn ragged(kind: &str) -> String {
    format!(
        "max_batch_size: 8
        input {{ name: 'RAGGED' data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }}
        output {{ name: 'COPY' data_type: TYPE_FP32 dims: -1 }}
        batch_input {{ kind: {kind} target_name: 'ENDS' data_type: TYPE_FP32 source_input: 'RAGGED' }}
        batch_output {{ kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: 'COPY' source_input: 'RAGGED' }}"
    )
}

#[test]
fn ragged_requests_are_run_together_and_scattered() {
    let mut supervisor = loaded("ragged", &ragged("BATCH_ACCUMULATED_ELEMENT_COUNT"));
    let inputs =
        [floats(&[1, 2], &[1.0, 2.0]), floats(&[1, 4], &[3.0, 4.0, 5.0, 6.0]), floats(&[1, 1], &[7.0])];
    let asks: Vec<Ask> = inputs.iter().map(|input| ask(&[("RAGGED", input.clone())])).collect();
    for (answer, input) in supervisor.execute(&asks).iter().zip(&inputs) {
        assert_eq!(output(answer, "COPY"), input);
    }
    supervisor.stop();
}

#[test]
fn batch_inputs_tell_where_requests_begin_and_end() {
    // What the model was fed with comes out again as if it were rows: one for each request, or an error with the shape.
    let cases: [(&str, Result<[f32; 2], &str>); 6] = [
        ("BATCH_ELEMENT_COUNT", Ok([2.0, 4.0])),
        ("BATCH_ACCUMULATED_ELEMENT_COUNT", Ok([2.0, 6.0])),
        ("BATCH_ITEM_SHAPE_FLATTEN", Ok([2.0, 4.0])),
        ("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", Err("has shape [3] for")),
        ("BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", Err("has shape [4] for")),
        ("BATCH_ITEM_SHAPE", Err("onnx runtime error")),
    ];
    for (kind, expected) in cases {
        let fed = "output { name: 'ENDS_COPY' data_type: TYPE_FP32 dims: 1 reshape { shape: [] } }";
        let mut supervisor = loaded("ragged", &format!("{} {fed}", ragged(kind)));
        let asks =
            [ask(&[("RAGGED", floats(&[1, 2], &[0.0; 2]))]), ask(&[("RAGGED", floats(&[1, 4], &[0.0; 4]))])];
        let answers = supervisor.execute(&asks);
        match expected {
            Ok(values) => {
                for (answer, value) in answers.iter().zip(values) {
                    assert_eq!(output(answer, "ENDS_COPY"), &floats(&[1, 1], &[value]), "{kind}");
                }
            }
            Err(words) => assert!(failure(&answers[1]).message.contains(words), "{kind}: {answers:?}"),
        }
        supervisor.stop();
    }
}
