"""The plain functions and constants of triton_python_backend_utils."""

import numpy as np
import pytest

NUMBERS = [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64]
NUMBERS += [np.float16, np.float32, np.float64, np.object_]


def test_numbers_and_numpy_types_are_each_other_s_inverse(api):
    for number, kind in enumerate(NUMBERS, 1):
        assert api.triton_to_numpy_type(number) is kind
        assert api.numpy_to_triton_type(kind) == number
        assert api.numpy_to_triton_type(np.dtype(kind)) == number
    assert api.numpy_to_triton_type(np.bytes_) == 13
    assert api.triton_to_numpy_type(14) is None
    assert api.numpy_to_triton_type(np.complex64) is None


def test_configuration_names_become_numpy_types(api):
    assert api.triton_string_to_numpy("TYPE_FP32") is np.float32
    assert api.triton_string_to_numpy("TYPE_STRING") is np.object_
    assert api.triton_string_to_numpy("TYPE_BOOL") is bool
    with pytest.raises(KeyError):
        api.triton_string_to_numpy("TYPE_BF16")


def test_strings_are_serialized_with_their_lengths(api):
    array = np.array([[b"ab", "é"], [b"", 7]], object)
    wire = b"\x02\0\0\0ab\x02\0\0\0\xc3\xa9\0\0\0\0\x01\0\0\x007"
    assert api.serialize_byte_tensor(array) == wire
    assert api.deserialize_bytes_tensor(wire).tolist() == [b"ab", "é".encode(), b"", b"7"]
    assert api.serialize_byte_tensor(np.array([b"ab"])) == b"\x02\0\0\0ab"
    assert api.serialize_byte_tensor(np.array([], object)) == ()
    assert api.serialize_byte_tensor(np.ones(1)) is None
    assert api.deserialize_bytes_tensor(b"").shape == (0,)


def test_tensors_are_found_by_name(api):
    tensors = [api.Tensor(name, np.ones(1)) for name in "ab"]
    request = api.InferenceRequest(inputs=tensors, requested_output_names=[], model_name="m")
    assert api.get_input_tensor_by_name(request, "b") is tensors[1]
    assert api.get_input_tensor_by_name(request, "c") is None
    response = api.InferenceResponse(tensors)
    assert api.get_output_tensor_by_name(response, "a") is tensors[0]
    assert api.get_output_tensor_by_name(response, "c") is None


def test_configurations_are_looked_up(api):
    config = {"input": [{"name": "a", "dims": [1]}], "output": [{"name": "b"}]}
    assert api.get_input_config_by_name(config, "a") == {"name": "a", "dims": [1]}
    assert api.get_output_config_by_name(config, "a") is None
    assert api.get_input_config_by_name({}, "a") is None
    assert api.using_decoupled_model_transaction_policy(config) is False
    assert api.using_decoupled_model_transaction_policy({"model_transaction_policy": {"decoupled": True}}) is True


def test_the_constants_have_the_server_s_values(api):
    assert api.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START == 1
    assert api.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END == 2
    assert api.TRITONSERVER_RESPONSE_COMPLETE_FINAL == 1
    assert api.TRITONSERVER_REQUEST_RELEASE_ALL == 1
    assert api.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE == 2
    assert api.TRITONSERVER_MEMORY_CPU != api.TRITONSERVER_MEMORY_GPU
    api.PreferredMemory(api.TRITONSERVER_MEMORY_CPU, 0)


def test_a_module_of_its_own_name_offers_all_of_it(api):
    names = "Tensor InferenceRequest InferenceResponse InferenceResponseSender InferenceTrace TritonError Logger"
    names += " TritonModelException PreferredMemory ResponseIterator MetricFamily Metric MetricKind ModelConfig"
    names += " get_model_dir"
    assert api.__name__ == "triton_python_backend_utils"
    assert [name for name in names.split() if not hasattr(api, name)] == []
