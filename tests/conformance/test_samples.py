"""The other sample models, with the official clients."""

import numpy as np
import onnxruntime
import pytest
from server import ROOT

LEFT = np.arange(16, dtype=np.float32).reshape(1, 16)
RIGHT = np.full((1, 16), 0.5, dtype=np.float32)


@pytest.mark.parametrize("model", ["add_sub_onnx", "add_sub_python"])
def test_add_sub_adds_and_subtracts(protocol, model):
    result = protocol.infer(model, {"INPUT0": ("FP32", LEFT), "INPUT1": ("FP32", RIGHT)})
    assert (result.as_numpy("OUTPUT0") == LEFT + RIGHT).all()
    assert (result.as_numpy("OUTPUT1") == LEFT - RIGHT).all()


@pytest.mark.parametrize("model", ["add_sub_onnx", "add_sub_python"])
def test_only_the_outputs_that_were_asked_for_come_back(protocol, model):
    result = protocol.infer(model, {"INPUT0": ("FP32", LEFT), "INPUT1": ("FP32", RIGHT)}, outputs=["OUTPUT1"])
    assert result.as_numpy("OUTPUT0") is None
    assert (result.as_numpy("OUTPUT1") == LEFT - RIGHT).all()


@pytest.mark.parametrize("model", ["add_sub_onnx", "add_sub_python"])
def test_many_asynchronous_requests_each_get_their_own_answer(http, model):
    pending = []
    for number in range(40):
        tensors = []
        for name, array in (("INPUT0", LEFT + number), ("INPUT1", RIGHT)):
            tensors.append(http.module.InferInput(name, [1, 16], "FP32"))
            tensors[-1].set_data_from_numpy(array)
        pending.append(http.client.async_infer(model, tensors))
    for number, request in enumerate(pending):
        assert (request.get_result().as_numpy("OUTPUT0") == LEFT + number + RIGHT).all()


def test_a_model_without_a_configuration_serves(protocol):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (protocol.infer("identity_onnx", {"INPUT0": ("FP32", array)}).as_numpy("OUTPUT0") == array).all()


def test_the_echo_model_gives_its_input_back(protocol):
    array = np.arange(4, dtype=np.float32).reshape(1, 4)
    assert (protocol.infer("echo", {"INPUT0": ("FP32", array)}).as_numpy("OUTPUT0") == array).all()


def test_silero_vad_follows_a_stream_as_onnxruntime_does(protocol):
    """Ten windows of a tone, the state handed back each time: bit for bit what ONNX Runtime gives."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        ROOT / "model_repository/silero_vad/1/model.onnx", options, providers=["CPUExecutionProvider"]
    )
    rate = np.array(16000, dtype=np.int64)
    samples = (0.3 * np.sin(np.arange(64 + 10 * 512) * 0.05)).astype(np.float32)
    state = expected_state = np.zeros((2, 1, 128), dtype=np.float32)
    for window in range(10):
        chunk = samples[None, window * 512 : window * 512 + 576]
        result = protocol.infer(
            "silero_vad",
            {"input": ("FP32", chunk), "state": ("FP32", state), "sr": ("INT64", rate.reshape(1))},
        )
        inputs = {"input": chunk, "state": expected_state, "sr": rate}
        expected, expected_state = session.run(["output", "stateN"], inputs)
        state = result.as_numpy("stateN")
        assert result.as_numpy("output").tobytes() == expected.tobytes()
        assert state.tobytes() == expected_state.tobytes()
