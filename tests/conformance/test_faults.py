"""A worker's death as the official clients see it: UNAVAILABLE with the cause, and then service."""

import time

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from server import Server
from tritonclient.utils import InferenceServerException

MODEL = """
import os

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            given = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            if given[0, 0] < 0:
                os._exit(3)
            if given[0, 0] > 100:
                raise ValueError("more than a hundred")
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", given)]))
        return responses
"""
CONFIG = """
backend: "python"
max_batch_size: 4
input [{ name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }]
output [{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }]
"""


@pytest.fixture(scope="module")
def fragile(tmp_path_factory):
    """A server of its own: its model dies on request."""
    folder = tmp_path_factory.mktemp("fragile")
    (folder / "fragile" / "1").mkdir(parents=True)
    (folder / "fragile" / "config.pbtxt").write_text(CONFIG)
    (folder / "fragile" / "1" / "model.py").write_text(MODEL)
    with Server(folder) as running:
        yield running


@pytest.fixture(params=[http_client, grpc_client], ids=["http", "grpc"])
def ask(request, fragile):
    """A function that sends one value to the model."""
    port = fragile.http if request.param is http_client else fragile.grpc

    def send(value):
        with request.param.InferenceServerClient(f"127.0.0.1:{port}") as client:
            tensor = request.param.InferInput("INPUT0", [1, 1], "FP32")
            tensor.set_data_from_numpy(np.array([[value]], dtype=np.float32))
            return client.infer("fragile", [tensor]).as_numpy("OUTPUT0")[0, 0]

    return send


def test_a_dead_worker_is_unavailable_with_its_cause_and_comes_back(ask):
    assert ask(1) == 1
    with pytest.raises(InferenceServerException) as error:
        ask(-1)
    assert error.value.status() in ("503", "StatusCode.UNAVAILABLE")
    for part in ("fragile", "exited with code 3"):
        assert part in error.value.message()
    deadline = time.monotonic() + 30
    while True:
        try:
            assert ask(2) == 2
            break
        except InferenceServerException:
            assert time.monotonic() < deadline, "the model did not come back"
            time.sleep(0.02)


def test_an_exception_is_an_internal_error_with_its_traceback(ask):
    with pytest.raises(InferenceServerException) as error:
        ask(101)
    assert error.value.status() in ("500", "StatusCode.INTERNAL")
    assert "more than a hundred" in error.value.message()
    assert ask(3) == 3
