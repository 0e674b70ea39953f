"""Health, metadata, configuration, statistics and errors, as the official clients see them."""

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

ROW = np.ones((1, 4), dtype=np.float32)


def test_server_and_models_are_live_and_ready(protocol):
    assert protocol.client.is_server_live()
    assert protocol.client.is_server_ready()
    assert protocol.client.is_model_ready("echo")
    assert protocol.client.is_model_ready("echo", "1")


def test_a_model_that_is_not_there_is_not_ready(http):
    assert not http.client.is_model_ready("nobody")


def test_the_server_tells_its_metadata(protocol):
    metadata = protocol.as_dict(protocol.client.get_server_metadata())
    assert metadata["name"] == "triton"
    assert metadata["version"]
    assert "binary_tensor_data" in metadata["extensions"]


def test_a_model_tells_its_metadata(protocol):
    metadata = protocol.as_dict(protocol.client.get_model_metadata("add_sub_python"))
    assert metadata["name"] == "add_sub_python" and metadata["versions"] == ["1"]
    shape = lambda tensor: [int(dim) for dim in tensor["shape"]]  # noqa: E731
    assert [(t["name"], t["datatype"], shape(t)) for t in metadata["inputs"]] == [
        ("INPUT0", "FP32", [-1, 16]),
        ("INPUT1", "FP32", [-1, 16]),
    ]
    assert [(t["name"], t["datatype"], shape(t)) for t in metadata["outputs"]] == [
        ("OUTPUT0", "FP32", [-1, 16]),
        ("OUTPUT1", "FP32", [-1, 16]),
    ]


def test_a_model_tells_its_completed_configuration(protocol):
    answer = protocol.as_dict(protocol.client.get_model_config("identity_onnx"))
    config = answer.get("config", answer)
    assert config["name"] == "identity_onnx"
    assert config["platform"] == "onnxruntime_onnx" and config["backend"] == "onnxruntime"
    assert config["input"][0]["data_type"] == "TYPE_FP32"
    assert int(config["max_batch_size"]) == 4
    assert "dynamic_batching" in config


def test_statistics_grow_with_every_request(protocol):
    def count():
        answer = protocol.as_dict(protocol.client.get_inference_statistics("echo"))
        stats = answer["model_stats"][0]
        return int(stats["inference_count"]), int(stats["inference_stats"]["success"]["count"])

    inferences, successes = count()
    for _ in range(3):
        protocol.infer("echo", {"INPUT0": ("FP32", np.ones((2, 4), dtype=np.float32))})
    assert count() == (inferences + 6, successes + 3)


def test_metrics_are_there(server):
    text = server.metrics_text()
    for family in ("nv_inference_request_success", "nv_inference_count", "nereid_worker_up"):
        assert f'{family}{{' in text, family


def test_the_request_id_comes_back(protocol):
    result = protocol.infer("echo", {"INPUT0": ("FP32", ROW)}, request_id="lucy")
    response = protocol.as_dict(result.get_response())
    assert response["id"] == "lucy"


def test_compressed_requests_and_answers_are_understood(http):
    array = np.zeros((1, 10000), dtype=np.float32)
    for algorithm in ("gzip", "deflate"):
        result = http.infer(
            "echo",
            {"INPUT0": ("FP32", array)},
            request_compression_algorithm=algorithm,
            response_compression_algorithm=algorithm,
        )
        assert (result.as_numpy("OUTPUT0") == array).all()


@pytest.mark.parametrize(
    "model, name, datatype, array, text, code",
    [
        ("nobody", "INPUT0", "FP32", ROW, "Request for unknown model: 'nobody' is not found", "NOT_FOUND"),
        ("echo", "INPUT9", "FP32", ROW, "unexpected inference input 'INPUT9' for model 'echo'", "INVALID_ARGUMENT"),
        (
            "echo",
            "INPUT0",
            "INT32",
            ROW.astype(np.int32),
            "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'INT32', but model 'echo' expects 'FP32'",
            "INVALID_ARGUMENT",
        ),
        (
            "echo",
            "INPUT0",
            "FP32",
            np.ones((9, 1), dtype=np.float32),
            "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'echo'",
            "INVALID_ARGUMENT",
        ),
        (
            "magika",
            "bytes",
            "INT32",
            np.ones((1, 5), dtype=np.int32),
            "[request id: <id_unknown>] unexpected shape for input 'bytes' for model 'magika'. Expected [-1,2048], got [1,5].",
            "INVALID_ARGUMENT",
        ),
    ],
)
def test_a_wrong_request_gets_the_exact_error(protocol, model, name, datatype, array, text, code):
    with pytest.raises(InferenceServerException) as error:
        protocol.infer(model, {name: (datatype, array)})
    assert error.value.message().startswith(text)
    if protocol.name == "grpc":
        assert error.value.status() == f"StatusCode.{code}"


def test_a_wrong_request_changes_nothing(protocol):
    for _ in range(3):
        with pytest.raises(InferenceServerException):
            protocol.infer("echo", {"INPUT0": ("INT32", ROW.astype(np.int32))})
        assert (protocol.infer("echo", {"INPUT0": ("FP32", ROW)}).as_numpy("OUTPUT0") == ROW).all()


def test_grpc_health_checking_is_served(server):
    import grpc
    from grpc import StatusCode

    # The standard messages, by hand: an empty request, and field 1 of the answer is 1 (SERVING).
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=10) == b"\x08\x01"
        unknown = channel.unary_unary("/inference.GRPCInferenceService/Nonsense")
        with pytest.raises(grpc.RpcError) as error:
            unknown(b"", timeout=10)
        assert error.value.code() == StatusCode.UNIMPLEMENTED
