"""All data types through an echo model: what comes back is what was sent, bit for bit."""

import datatypes
import numpy as np
import pytest


def same(left, right):
    if left.dtype == np.object_ or right.dtype == np.object_:
        return left.shape == right.shape and left.tolist() == right.tolist()
    return left.shape == right.shape and left.dtype == right.dtype and left.tobytes() == right.tobytes()


@pytest.mark.parametrize("name", datatypes.NAMES)
def test_every_type_comes_back_bit_for_bit(protocol, name):
    array = datatypes.sample(name)
    result = protocol.infer(f"echo_{name.lower()}", {"INPUT0": (name, array)})
    assert same(result.as_numpy("OUTPUT0"), array)


@pytest.mark.parametrize("name", [name for name in datatypes.NAMES if name not in datatypes.BINARY_ONLY])
def test_every_type_with_a_json_form_comes_back_as_json(http, name):
    array = datatypes.sample(name)
    if name == "BYTES":
        # In JSON they are text.
        array = np.array([["one", ""], ["zwölf", '"\\']], dtype=np.object_)
    tensor = http.module.InferInput("INPUT0", list(array.shape), name)
    tensor.set_data_from_numpy(array, binary_data=False)
    output = http.module.InferRequestedOutput("OUTPUT0", binary_data=False)
    result = http.client.infer(f"echo_{name.lower()}", [tensor], outputs=[output])
    assert same(result.as_numpy("OUTPUT0"), array)


def test_values_that_are_no_numbers_pass(protocol):
    array = np.array([[np.nan, np.inf, -np.inf]], dtype=np.float32)
    result = protocol.infer("echo_fp32", {"INPUT0": ("FP32", array)})
    assert same(result.as_numpy("OUTPUT0"), array)


def test_an_empty_tensor_comes_back_empty(protocol):
    array = np.zeros((0, 3), dtype=np.float32)
    result = protocol.infer("echo_fp32", {"INPUT0": ("FP32", array)})
    assert result.as_numpy("OUTPUT0").shape == (0, 3)


def test_a_tensor_larger_than_any_packet_comes_back(protocol):
    array = np.arange(6 << 20, dtype=np.float32).reshape(2, -1)
    result = protocol.infer("echo_fp32", {"INPUT0": ("FP32", array)})
    assert same(result.as_numpy("OUTPUT0"), array)


def test_typed_contents_are_taken_over_grpc(grpc, server):
    """The official client sends raw bytes only; the protocol also allows typed lists."""
    from tritonclient.grpc import service_pb2, service_pb2_grpc
    import grpc as grpc_core

    contents = {
        "BOOL": ("bool_contents", [True, False]),
        "INT8": ("int_contents", [-128, 127]),
        "INT32": ("int_contents", [-5, 6]),
        "INT64": ("int64_contents", [-(2**63), 2**63 - 1]),
        "UINT16": ("uint_contents", [0, 65535]),
        "UINT64": ("uint64_contents", [0, 2**64 - 1]),
        "FP32": ("fp32_contents", [0.5, -1.0]),
        "FP64": ("fp64_contents", [0.1, -1.0]),
        "BYTES": ("bytes_contents", [b"a", b""]),
    }
    with grpc_core.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        for name, (field, values) in contents.items():
            request = service_pb2.ModelInferRequest(model_name=f"echo_{name.lower()}", id=name)
            tensor = request.inputs.add(name="INPUT0", datatype=name, shape=[1, 2])
            getattr(tensor.contents, field).extend(values)
            response = stub.ModelInfer(request, timeout=30)
            result = grpc.module.InferResult(response).as_numpy("OUTPUT0")
            assert result.tolist() == [values], name
            assert response.id == name
