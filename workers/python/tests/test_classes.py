"""Tensors, requests, responses and errors that a model makes itself."""

import ctypes
import gc
import weakref

import numpy as np
import pytest


def refuses(api, text):
    return pytest.raises(api.TritonModelException, match=text)


def test_a_tensor_is_its_array(api):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = api.Tensor("x", array)
    assert tensor.name() == "x" and tensor.shape() == [2, 3] and tensor.triton_dtype() == 11 and tensor.is_cpu()
    assert tensor.as_numpy() is array
    assert api.Tensor("x", np.array(1.0)).shape() == []


@pytest.mark.parametrize("array", [np.arange(6).reshape(2, 3).T, np.arange(6)[::2], np.arange(6)[::-1]])
def test_an_array_of_another_order_is_brought_into_c_order(api, array):
    made = api.Tensor("x", array).as_numpy()
    assert made.flags.c_contiguous and np.array_equal(made, array)


def test_read_only_arrays_and_long_strings_are_taken(api):
    array = np.arange(3)
    array.flags.writeable = False
    assert api.Tensor("x", array).as_numpy() is array
    strings = np.array([b"one", b"three"])
    assert api.Tensor("x", strings).triton_dtype() == 13


def test_what_is_no_tensor_is_refused(api):
    with refuses(api, "^Tensor name cannot be an empty string.$"):
        api.Tensor("", np.ones(1))
    with pytest.raises(TypeError, match="needs a numpy array"):
        api.Tensor("x", [1, 2])
    for array in (np.ones(1, complex), np.array(["text"]), np.ones(1, ">f4"), np.array(["2020"], "datetime64[Y]")):
        with refuses(api, "NumPy dtype is not supported"):
            api.Tensor("x", array)


def test_other_frameworks_see_the_tensor_s_memory(api):
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    seen = np.from_dlpack(api.Tensor("x", array))
    assert np.array_equal(seen, array) and np.shares_memory(seen, array)
    assert api.Tensor("x", array).__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64"])
def test_a_tensor_is_made_over_another_framework_s_memory(api, dtype):
    array = np.array([[0, 1], [1, 1]], dtype)
    for source in (array, api.Tensor("x", array), api.Tensor("x", array).to_dlpack()):
        tensor = api.Tensor.from_dlpack("y", source)
        assert tensor.name() == "y" and tensor.shape() == [2, 2]
        assert tensor.as_numpy().dtype == array.dtype and np.array_equal(tensor.as_numpy(), array)
        assert np.shares_memory(tensor.as_numpy(), array)


def test_memory_is_kept_as_long_as_somebody_looks_at_it_and_no_longer(api):
    class Array(np.ndarray):
        pass

    array = np.arange(1000).view(Array)
    died = weakref.ref(array)
    looks = api.Tensor.from_dlpack("y", api.Tensor("x", array).to_dlpack()).as_numpy()
    unused = api.Tensor("x", array).to_dlpack()
    del array
    gc.collect()
    assert died() is not None and looks[999] == 999
    del looks
    assert died() is not None
    del unused
    gc.collect()
    assert died() is None


def test_dlpack_errors_say_what_is_wrong(api):
    with refuses(api, "^DLPack does not have support for string tensors.$"):
        api.Tensor("x", np.array([b"a"], object)).to_dlpack()
    with refuses(api, "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order"):
        api.Tensor.from_dlpack("x", np.arange(6).reshape(2, 3).T)
    with refuses(api, "Provided tensor is not supported."):
        api.Tensor.from_dlpack("x", 7)
    with refuses(api, "cannot be an empty string"):
        api.Tensor.from_dlpack("", np.ones(1))
    capsule = api.Tensor("x", np.ones(1)).to_dlpack()
    api.Tensor.from_dlpack("y", capsule)
    with pytest.raises(ValueError):
        api.Tensor.from_dlpack("y", capsule)

    class OnGpu:
        def __dlpack__(self):
            raise AssertionError("is not asked")

        def __dlpack_device__(self):
            return (2, 0)

    with refuses(api, "DLDevice type 2 is not support by Python backend."):
        api.Tensor.from_dlpack("x", OnGpu())


def test_a_capsule_of_another_name_is_not_taken_for_a_tensor(api):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    with pytest.raises(ValueError):
        api.Tensor.from_dlpack("x", make(1, b"something", None))


def test_a_response_has_tensors_or_an_error(api):
    tensor = api.Tensor("y", np.ones(1))
    response = api.InferenceResponse(output_tensors=[tensor], parameters={"a": 1})
    assert response.output_tensors() == [tensor] and not response.has_error() and response.error() is None
    assert response.parameters() == '{"a":1}'
    failed = api.InferenceResponse(error=api.TritonError("bad", code=api.TritonError.NOT_FOUND))
    assert failed.has_error() and failed.error().message() == "bad"
    assert failed.error().code() == api.TritonError.NOT_FOUND and failed.parameters() == "{}"
    assert api.TritonError("bad").code() == api.TritonError.INTERNAL
    with refuses(api, "^Output tensor for inference response should not be empty.$"):
        api.InferenceResponse([None])
    with pytest.raises(TypeError):
        api.InferenceResponse([7])


def test_parameters_are_texts_to_simple_values(api):
    with refuses(api, "Expect parameters keys to have type str, found type <class 'int'>"):
        api.InferenceResponse([], parameters={1: "a"})
    with refuses(api, "Expect parameters values to have type bool/int/str, found type <class 'float'>"):
        api.InferenceResponse([], parameters={"a": 1.5})


def test_a_request_made_by_a_model_tells_what_it_was_given(api):
    tensor = api.Tensor("x", np.ones(1))
    request = api.InferenceRequest(
        request_id="r",
        correlation_id=5,
        inputs=[tensor],
        requested_output_names=["y"],
        model_name="m",
        model_version=2,
        flags=1,
        timeout=9,
        preferred_memory=api.PreferredMemory(api.TRITONSERVER_MEMORY_GPU),
        trace=api.InferenceTrace(),
        parameters={"p": True},
    )
    request.set_flags(3)
    assert (request.request_id(), request.correlation_id(), request.flags(), request.timeout()) == ("r", 5, 3, 9)
    assert request.inputs() == [tensor] and request.requested_output_names() == ["y"]
    assert request.parameters() == '{"p":true}' and request.trace().get_context() is None
    assert not request.is_cancelled()
    assert api.InferenceRequest(correlation_id="s", model_name="m").correlation_id() == "s"


def test_wrong_requests_are_refused(api):
    with refuses(api, "^Correlation ID must be integer or string$"):
        api.InferenceRequest(correlation_id=1.5)
    with refuses(api, "^Input tensor for request with id 'r' and model name 'm' should not be empty.$"):
        api.InferenceRequest("r", inputs=[None], model_name="m")
    with refuses(api, "^Requested output name for request with id '' and model name 'm' should not be empty.$"):
        api.InferenceRequest(requested_output_names=[""], model_name="m")
    with refuses(api, "^BLS is only supported during the 'execute' function.$"):
        api.InferenceRequest(model_name="m").exec()


def test_metrics_keep_their_values_and_refuse_what_the_server_would(api):
    counter = api.MetricFamily("c", "d", api.MetricFamily.COUNTER).Metric(labels={"a": "b"})
    counter.increment(2)
    assert counter.value() == 2
    gauge = api.MetricFamily("g", "d", api.MetricFamily.GAUGE).Metric()
    gauge.set(5)
    gauge.increment(-1)
    assert gauge.value() == 4
    family = api.MetricFamily("h", "d", api.MetricFamily.HISTOGRAM)
    family.Metric(buckets=[0.1, 1]).observe(0.5)
    for wrong in (
        lambda: counter.increment(-1),
        lambda: counter.set(1),
        lambda: gauge.observe(1),
        lambda: family.Metric(),
        lambda: family.Metric(labels=[]),
        lambda: family.Metric(buckets=[2, 1]),
        lambda: api.MetricFamily("g", "d", api.MetricFamily.GAUGE).Metric(buckets=[1]),
        lambda: api.MetricFamily("g", "d", "gauge"),
    ):
        with pytest.raises(api.TritonModelException):
            wrong()


def test_log_lines_outside_of_a_worker_go_to_stderr(api, capfd):
    api.Logger.log_warn("careful")
    written = capfd.readouterr().err
    assert written.startswith("WARNING ") and written.endswith(": careful\n") and "test_classes.py:" in written
