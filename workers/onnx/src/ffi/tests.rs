//! The C API itself, against the library that is installed here.

use super::{
    options::{GraphLevel, RunOptions, SessionOptions},
    run::{Call, Made, Scratch},
    runtime::{LoadError, Runtime, Severity},
    session::{Element, Kind, Session},
};
use crate::testing::{model_file, runtime, session};
use std::path::Path;

const FLOAT: Element = Element(1);

/// Memory aligned as arenas are.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned([u8; 64]);

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn aligned(values: &[f32]) -> Aligned {
    let mut memory = Aligned([0; 64]);
    for (bytes, value) in memory.0.chunks_exact_mut(4).zip(values) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    memory
}

fn run_options() -> RunOptions {
    RunOptions::new(runtime()).unwrap()
}

fn made_floats(call: &Call<'_>, position: usize) -> (Vec<f32>, Vec<i64>) {
    let mut shape = Vec::new();
    match call.made(position, &mut shape).unwrap() {
        Made::Fixed(FLOAT, bytes) => {
            let values = bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
            (values.collect(), shape)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_library_tells_its_version_and_providers() {
    let runtime = runtime();
    assert!(runtime.version().starts_with("1."), "{}", runtime.version());
    assert!(runtime.providers().unwrap().contains(&"CPUExecutionProvider".to_owned()));
    assert!(runtime.path().is_file());
}

#[test]
fn a_file_that_is_no_library_is_refused_with_its_path() {
    let file = model_file("add_sub");
    let error = Runtime::load(&file, Severity::Error, |_, _| ()).unwrap_err();
    assert!(matches!(error, LoadError::Open { .. }), "{error}");
    assert!(error.to_string().contains("add_sub.onnx"), "{error}");
}

#[test]
fn a_library_that_is_something_else_is_refused() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.split_whitespace().find(|word| word.contains("libc.so")).unwrap().to_owned();
    let error = Runtime::load(Path::new(&libc), Severity::Error, |_, _| ()).unwrap_err();
    assert!(matches!(error, LoadError::NotOnnxRuntime { .. }), "{error}");
}

#[test]
fn a_session_tells_names_types_shapes_and_symbols() {
    let session = session("add_sub");
    let names: Vec<&str> = session.inputs().iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["INPUT0", "INPUT1"]);
    let output = &session.outputs()[1];
    assert_eq!((output.name.as_str(), output.kind), ("OUTPUT1", Kind::Tensor(FLOAT)));
    assert_eq!(output.shape, [-1, 16]);
    assert_eq!(output.symbols, ["batch", ""]);
}

#[test]
fn initialisers_that_can_be_overridden_come_after_the_inputs() {
    let session = session("scale");
    let names =
        |ports: &[super::session::Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(session.inputs()), ["INPUT"]);
    assert_eq!(names(session.all_inputs()), ["INPUT", "FACTOR"]);
}

#[test]
fn a_sequence_is_told_from_a_tensor() {
    assert_eq!(session("sequence").outputs()[0].kind, Kind::Other(2));
}

#[test]
fn a_missing_file_is_an_error_with_the_librarys_code() {
    let options = SessionOptions::new(runtime()).unwrap();
    let error = Session::open(&model_file("no such model"), &options).unwrap_err();
    assert_eq!(error.code, 3, "{error}");
    assert!(error.to_string().starts_with("onnx runtime error 3: "), "{error}");
}

#[test]
fn every_session_option_is_taken() {
    let mut options = SessionOptions::new(runtime()).unwrap();
    for level in [GraphLevel::None, GraphLevel::Basic, GraphLevel::Extended, GraphLevel::All] {
        options.set_graph_level(level).unwrap();
    }
    for on in [false, true] {
        options.set_parallel(on).unwrap();
        options.set_memory_arena(on).unwrap();
        options.set_memory_pattern(on).unwrap();
    }
    options.set_intra_threads(2).unwrap();
    options.set_inter_threads(2).unwrap();
    options.set_entry("session.use_device_allocator_for_initializers", "1").unwrap();
    Session::open(&model_file("add_sub"), &options).unwrap();
    assert!(options.set_entry("with\0nul", "1").is_err());
}

#[test]
fn results_land_in_the_memory_that_was_given() {
    let session = session("add_sub");
    let (one, two) = (aligned(&[1.0; 16]), aligned(&[2.0; 16]));
    let (mut sum, mut difference) = (aligned(&[]), aligned(&[]));
    let mut scratch = Scratch::default();
    {
        let mut call = Call::new(&session, &mut scratch);
        call.input(1, &two.0, &[1, 16]).unwrap();
        call.input(0, &one.0, &[1, 16]).unwrap();
        call.output_into(0, &mut sum.0, &[1, 16]).unwrap();
        call.output_into(1, &mut difference.0, &[1, 16]).unwrap();
        call.run(&run_options()).unwrap();
    }
    assert_eq!(sum.0, aligned(&[3.0; 16]).0);
    assert_eq!(difference.0, aligned(&[-1.0; 16]).0);
}

#[test]
fn only_the_outputs_that_are_asked_for_are_made() {
    let session = session("add_sub");
    let one = aligned(&[1.0; 16]);
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input(0, &one.0, &[1, 16]).unwrap();
    call.input(1, &one.0, &[1, 16]).unwrap();
    call.output(1);
    call.run(&run_options()).unwrap();
    assert_eq!(made_floats(&call, 0), (vec![0.0; 16], vec![1, 16]));
}

#[test]
fn an_output_of_unknown_size_is_made_by_the_library() {
    let session = session("non_zero");
    let input = aligned(&[0.0, 5.0, 0.0, 7.0]);
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input(0, &input.0[..16], &[4]).unwrap();
    call.output(0);
    call.run(&run_options()).unwrap();
    let mut shape = Vec::new();
    let Made::Fixed(Element(7), bytes) = call.made(0, &mut shape).unwrap() else { panic!() };
    assert_eq!(shape, [1, 2]);
    assert_eq!(bytes, [1_i64, 3].map(i64::to_le_bytes).as_flattened());
}

#[test]
fn scalars_have_no_dimensions() {
    let session = session("total");
    let (input, factor) = (aligned(&[1.0, 2.0, 3.0]), aligned(&[10.0]));
    let mut total = aligned(&[]);
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input(0, &input.0[..12], &[3]).unwrap();
    call.input(1, &factor.0[..4], &[]).unwrap();
    call.output_into(0, &mut total.0[..4], &[]).unwrap();
    call.run(&run_options()).unwrap();
    drop(call);
    assert_eq!(total.0[..4], floats(&[60.0]));
}

#[test]
fn strings_keep_their_nuls_and_their_emptiness() {
    let session = session("identity_string");
    let texts: [&[u8]; 4] = [b"one", b"", b"with\0nul", "höhe".as_bytes()];
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input_strings(0, &[2, 2], texts.iter().map(|text| Ok(*text))).unwrap();
    call.output(0);
    call.run(&run_options()).unwrap();
    let mut shape = Vec::new();
    let Made::Strings(text, starts) = call.made(0, &mut shape).unwrap() else { panic!() };
    assert_eq!(shape, [2, 2]);
    assert_eq!(text, texts.concat());
    assert_eq!(starts, [0, 3, 3, 11]);
}

#[test]
fn a_wrong_number_of_strings_is_refused() {
    let session = session("identity_string");
    for (shape, count) in [([1_i64, 2], 1), ([1, 2], 3), ([0, 2], 1)] {
        let mut scratch = Scratch::default();
        let mut call = Call::new(&session, &mut scratch);
        let elements = std::iter::repeat_n(Ok(&b"x"[..]), count);
        assert!(call.input_strings(0, &shape, elements).is_err(), "{shape:?} {count}");
    }
}

#[test]
fn memory_of_another_length_is_refused() {
    let session = session("add_sub");
    let memory = aligned(&[0.0; 16]);
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    assert!(call.input(0, &memory.0, &[2, 16]).is_err());
    assert!(call.input(0, &memory.0, &[-1, 16]).is_err());
    assert!(call.input(0, &memory.0, &[i64::MAX, 16]).is_err());
}

#[test]
fn memory_without_alignment_is_copied() {
    let session = session("non_zero");
    let mut memory = aligned(&[]);
    memory.0[1..9].copy_from_slice(&floats(&[0.0, 3.0]));
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input(0, &memory.0[1..9], &[2]).unwrap();
    call.output(0);
    call.run(&run_options()).unwrap();
    let mut shape = Vec::new();
    let Made::Fixed(Element(7), bytes) = call.made(0, &mut shape).unwrap() else { panic!() };
    assert_eq!(bytes, 1_i64.to_le_bytes());
}

#[test]
fn tensors_without_elements_go_through() {
    let session = session("add_sub");
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input(0, &[], &[0, 16]).unwrap();
    call.input(1, &[], &[0, 16]).unwrap();
    call.output_into(0, &mut [], &[0, 16]).unwrap();
    call.output(1);
    call.run(&run_options()).unwrap();
    assert_eq!(made_floats(&call, 1), (vec![], vec![0, 16]));
}

#[test]
fn a_wrong_guess_of_a_shape_fails_and_the_run_can_be_repeated() {
    let session = session("liar");
    let input = aligned(&[1.0, 2.0]);
    let mut output = aligned(&[]);
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input(0, &input.0[..8], &[1, 2]).unwrap();
    call.output_into(0, &mut output.0[..8], &[1, 2]).unwrap();
    let error = call.run(&run_options()).unwrap_err();
    assert!(error.to_string().contains("shape"), "{error}");
    assert!(call.gave_output_memory());
    call.withdraw_output_memory();
    call.run(&run_options()).unwrap();
    assert_eq!(made_floats(&call, 0), (vec![1.0, 2.0, 1.0, 2.0], vec![1, 4]));
}

#[test]
fn an_output_that_is_an_input_or_a_constant_is_copied_to_the_given_memory() {
    let session = session("passthrough");
    let input = aligned(&[1.0, 2.0]);
    let (mut output, mut constant) = (aligned(&[]), aligned(&[]));
    let mut scratch = Scratch::default();
    {
        let mut call = Call::new(&session, &mut scratch);
        call.input(0, &input.0[..8], &[1, 2]).unwrap();
        call.output_into(0, &mut output.0[..8], &[1, 2]).unwrap();
        call.output_into(1, &mut constant.0[..12], &[3]).unwrap();
        call.run(&run_options()).unwrap();
    }
    assert_eq!(output.0[..8], floats(&[1.0, 2.0]));
    assert_eq!(constant.0[..12], floats(&[10.0, 20.0, 30.0]));
}

#[test]
fn a_failing_run_tells_the_librarys_words() {
    let session = session("lookup");
    let index = 7_i64.to_le_bytes();
    let mut memory = aligned(&[]);
    memory.0[..8].copy_from_slice(&index);
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input(0, &memory.0[..8], &[1, 1]).unwrap();
    call.output(0);
    let error = call.run(&run_options()).unwrap_err();
    assert!(error.to_string().contains("onnx runtime error 2: "), "{error}");
}

#[test]
fn the_same_scratch_serves_many_runs() {
    let session = session("add_sub");
    let one = aligned(&[1.0; 16]);
    let mut scratch = Scratch::default();
    let options = run_options();
    for round in 0..100 {
        let mut sum = aligned(&[]);
        {
            let mut call = Call::new(&session, &mut scratch);
            call.input(0, &one.0, &[1, 16]).unwrap();
            call.input(1, &one.0, &[1, 16]).unwrap();
            call.output_into(0, &mut sum.0, &[1, 16]).unwrap();
            call.run(&options).unwrap();
        }
        assert_eq!(sum.0, aligned(&[2.0; 16]).0, "round {round}");
    }
}

#[test]
fn providers_that_the_library_lacks_are_errors() {
    type Append = fn(&mut SessionOptions) -> Result<(), super::OrtError>;
    let available = runtime().providers().unwrap();
    let providers: [(&str, Append); 3] = [
        ("CUDAExecutionProvider", |options| options.append_cuda(&[("device_id".to_owned(), "0".to_owned())])),
        ("TensorrtExecutionProvider", |options| options.append_tensorrt(&[])),
        ("OpenVINOExecutionProvider", |options| options.append_named("OpenVINO", &[])),
    ];
    for (name, append) in providers {
        if !available.iter().any(|available| available == name) {
            let mut options = SessionOptions::new(runtime()).unwrap();
            assert!(append(&mut options).is_err(), "{name}");
        }
    }
}

#[test]
fn an_arena_with_a_limit_refuses_more() {
    let runtime = runtime();
    runtime.register_arena(&[(c"max_mem", 1 << 20), (c"arena_extend_strategy", 1)]).unwrap();
    let mut options = SessionOptions::new(runtime).unwrap();
    options.set_intra_threads(1).unwrap();
    options.set_entry("session.use_env_allocators", "1").unwrap();
    let session = Session::open(&model_file("non_zero"), &options).unwrap();
    let big = vec![1_f32; 1 << 20];
    let bytes: Vec<u8> = floats(&big);
    let mut scratch = Scratch::default();
    let mut call = Call::new(&session, &mut scratch);
    call.input(0, &bytes, &[1 << 20]).unwrap();
    call.output(0);
    let error = call.run(&run_options()).unwrap_err();
    assert!(error.message.to_lowercase().contains("memory"), "{error}");
}
