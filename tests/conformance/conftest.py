"""One server for the whole session, with the sample models and an echo model of each data type, and both clients.

Run by `scripts/test conformance`, or: `.cache/venv/bin/python -m pytest tests/conformance` after `cargo build --workspace`.
"""

import pathlib
import shutil
import sys

import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import datatypes  # noqa: E402  The folder of this file is on the path only now.
from server import ROOT, Server  # noqa: E402

SAMPLES = ROOT / "model_repository"


def write_echo(repository, model, lines, version="1"):
    """An echo model with this configuration."""
    (repository / model / version).mkdir(parents=True)
    (repository / model / "config.pbtxt").write_text('backend: "echo"\n' + lines)


def tensor(kind, name, datatype, dims):
    return f'{kind} [{{ name: "{name}" data_type: {datatype} dims: {dims} }}]\n'


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    """The sample models and `echo_<type>` for all types."""
    folder = tmp_path_factory.mktemp("models")
    for sample in SAMPLES.iterdir():
        if sample.is_dir():
            shutil.copytree(sample, folder / sample.name)
    for name in datatypes.NAMES:
        config = datatypes.config_name(name)
        lines = "max_batch_size: 0\n" + tensor("input", "INPUT0", config, "[ -1, -1 ]")
        write_echo(folder, f"echo_{name.lower()}", lines + tensor("output", "OUTPUT0", config, "[ -1, -1 ]"))
    return folder


@pytest.fixture(scope="session")
def server(repository):
    with Server(repository) as running:
        yield running


class Protocol:
    """One client library with a connected client: tests that take the fixture `protocol` run over both."""

    def __init__(self, name, module, client):
        self.name, self.module, self.client = name, module, client

    def infer(self, model, inputs, outputs=None, **options):
        """`inputs`: name → (datatype, array). `outputs`: names, or a dict name → options of the requested output."""
        tensors = []
        for name, (datatype, array) in inputs.items():
            tensors.append(self.module.InferInput(name, list(array.shape), datatype))
            tensors[-1].set_data_from_numpy(array)
        requested = None
        if outputs is not None:
            pairs = outputs.items() if isinstance(outputs, dict) else [(name, {}) for name in outputs]
            requested = [self.module.InferRequestedOutput(name, **further) for name, further in pairs]
        return self.client.infer(model, tensors, outputs=requested, **options)

    def as_dict(self, answer):
        """A metadata answer, from either library, as a dict."""
        if isinstance(answer, (dict, list)):
            return answer
        from google.protobuf.json_format import MessageToDict

        return MessageToDict(answer, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


@pytest.fixture(scope="session")
def http(server):
    client = http_client.InferenceServerClient(f"127.0.0.1:{server.http}", concurrency=8)
    yield Protocol("http", http_client, client)
    client.close()


@pytest.fixture(scope="session")
def grpc(server):
    client = grpc_client.InferenceServerClient(f"127.0.0.1:{server.grpc}")
    yield Protocol("grpc", grpc_client, client)
    client.close()


@pytest.fixture(params=["http", "grpc"])
def protocol(request):
    """Both protocols, one after the other."""
    return request.getfixturevalue(request.param)
