"""Where the package and its extension module are found, and the rig that plays the supervisor."""

import os
import pathlib
import sys

import pytest

PACKAGE_FOLDER = pathlib.Path(__file__).resolve().parent.parent
ROOT = PACKAGE_FOLDER.parent.parent

sys.path.insert(0, str(PACKAGE_FOLDER))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def _extension():
    named = os.environ.get("NEREID_PYTHON_EXTENSION")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    for path in (named, target / "debug/libnereid_python.so", target / "release/libnereid_python.so"):
        if path and os.path.isfile(path):
            return str(path)
    return None


EXTENSION = _extension()
if EXTENSION is None:
    raise pytest.UsageError("the extension module is not built: run `cargo build -p nereid-python` first")
os.environ["NEREID_PYTHON_EXTENSION"] = EXTENSION


@pytest.fixture
def api():
    """What a model imports as triton_python_backend_utils."""
    import triton_python_backend_utils

    return triton_python_backend_utils


@pytest.fixture
def start(tmp_path):
    """Starts workers: `start(model_source, **options)`; all are gone at the end of the test."""
    from rig import Worker

    workers = []

    def start_one(source, **options):
        worker = Worker(tmp_path / f"models{len(workers)}", source, **options)
        workers.append(worker)
        return worker

    yield start_one
    for worker in workers:
        worker.close()
