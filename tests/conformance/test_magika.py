"""Real files through a real model: the answers are those of ONNX Runtime run directly, bit for bit.

The model runs one thread here and there, and a request is compared with a direct run of the same batch: other batch
sizes may round differently in the last bit, with or without a server between.
"""

import importlib.machinery
import importlib.util
import io
import json
import pathlib
import threading
import zipfile

import numpy as np
import onnxruntime
import pytest
from server import ROOT

LABELS = 214


def load_script(name):
    """A script without an extension, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


classify = load_script("classify")


def archive():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(20):
            file.writestr(f"{number}.txt", f"text {number}\n" * 200)
    return buffer.getvalue()


def files():
    """(label, content) of files whose type nobody doubts: of this repository, or made here."""
    read = lambda path: (ROOT / path).read_bytes()  # noqa: E731
    return [
        ("python", read("tests/conformance/server.py")),
        ("rust", read("tests/harness/http.rs")),
        ("markdown", read("docs/ARCHITECTURE.md")),
        ("toml", read("Cargo.toml")),
        ("proto", read("proto/grpc_service.proto")),
        ("shell", read("scripts/lib.sh")),
        ("onnx", read("model_repository/magika/1/model.onnx")),
        ("elf", pathlib.Path("/bin/ls").read_bytes()),
        ("zip", archive()),
        ("json", json.dumps({"list": [{"number": n, "text": str(n)} for n in range(200)]}, indent=2).encode()),
    ]


def features(content):
    return np.array([classify.features(content)], dtype=np.int32)


@pytest.fixture(scope="module")
def session():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = ROOT / "model_repository/magika/1/model.onnx"
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def direct(session, batch):
    return session.run(["target_label"], {"bytes": batch})[0]


def test_files_are_recognised_and_the_scores_are_onnxruntimes(protocol, session):
    labels = classify.labels()
    assert len(labels) == LABELS
    for label, content in files():
        batch = features(content)
        scores = protocol.infer("magika", {"bytes": ("INT32", batch)}).as_numpy("target_label")
        assert scores.dtype == np.float32 and scores.shape == (1, LABELS)
        assert scores.tobytes() == direct(session, batch).tobytes(), label
        assert labels[int(scores.argmax())] == label


def test_a_batch_of_files_equals_a_direct_run_of_the_batch(protocol, session):
    batch = np.concatenate([features(content) for _, content in files()])
    scores = protocol.infer("magika", {"bytes": ("INT32", batch)}).as_numpy("target_label")
    assert scores.tobytes() == direct(session, batch).tobytes()


def test_requests_at_once_are_batched_and_each_gets_its_own_answer(server, session):
    """Requests that the server joins: every client still gets the label of its own file."""
    import tritonclient.grpc as grpc_client

    labels, wrong = classify.labels(), []

    def one(label, content):
        with grpc_client.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
            batch = features(content)
            tensor = grpc_client.InferInput("bytes", [1, 2 * classify.EACH_END], "INT32")
            tensor.set_data_from_numpy(batch)
            for _ in range(5):
                scores = client.infer("magika", [tensor]).as_numpy("target_label")
                close = np.allclose(scores, direct(session, batch), rtol=1e-4, atol=1e-6)
                if not close or labels[int(scores.argmax())] != label:
                    wrong.append((label, labels[int(scores.argmax())]))

    threads = [threading.Thread(target=one, args=file) for file in files()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_classify_script_names_files(server):
    ranking = classify.classify(f"http://127.0.0.1:{server.http}", (ROOT / "Cargo.toml").read_bytes())
    assert ranking[0][0] == "toml" and len(ranking) == 3
