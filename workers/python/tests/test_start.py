"""How the process starts, or says why it cannot."""

import os
import shutil
import subprocess
import sys
import tarfile

import conftest


def run(folder=conftest.PACKAGE_FOLDER, cwd="/", path="", arguments=("-m", "nereid_worker"), **env):
    environment = {key: value for key, value in os.environ.items() if key != "NEREID_PYTHON_EXTENSION"}
    environment |= {"PYTHONPATH": f"{folder}:{path}" if path else str(folder), **env}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_a_missing_extension_module_is_told_with_what_to_do():
    code, text = run(NEREID_PYTHON_EXTENSION="/no/such.so")
    assert code == 78
    assert text.startswith("nereid_worker cannot start: the worker's extension module is missing: /no/such.so does not")
    assert "cargo build -p nereid-python" in text and "NEREID_PYTHON_EXTENSION" in text


def test_the_extension_module_may_lie_in_the_package(tmp_path):
    shutil.copytree(conftest.PACKAGE_FOLDER / "nereid_worker", tmp_path / "nereid_worker")
    (tmp_path / "nereid_worker/_native.abi3.so").symlink_to(conftest.EXTENSION)
    code, text = run(tmp_path)
    assert code == 2 and "a worker is started by the supervisor" in text
    check = "import nereid_worker.native as n; n.load(); from nereid_worker import _native; assert _native is n.load()"
    assert run(tmp_path, arguments=("-c", check)) == (0, "")


def test_a_missing_numpy_is_told_with_the_interpreter(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('not here')")
    code, text = run(path=tmp_path, NEREID_PYTHON_EXTENSION=conftest.EXTENSION)
    assert code == 79
    assert f"numpy cannot be imported by {sys.executable} (not here)" in text


def test_the_folder_of_the_start_is_not_on_the_path(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('not here')")
    assert run(cwd=tmp_path, NEREID_PYTHON_EXTENSION=conftest.EXTENSION)[0] == 2


def archive(tmp_path, script):
    """An environment whose interpreter is a script that says so."""
    python = tmp_path / "env/bin/python3"
    python.parent.mkdir(parents=True)
    python.write_text(script)
    python.chmod(0o755)
    with tarfile.open(tmp_path / "env.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "env", arcname=".")
    return tmp_path / "env.tar.gz"


def test_an_archive_is_unpacked_once_and_its_interpreter_takes_over(tmp_path):
    packed = archive(tmp_path, f'#!/bin/sh\necho "in $CONDA_PREFIX" >&2\nexec {sys.executable} "$@"\n')
    env = {"NEREID_EXECUTION_ENV": str(packed), "CACHE_DIRECTORY": str(tmp_path / "cache")}
    for _ in range(2):
        code, text = run(NEREID_PYTHON_EXTENSION=conftest.EXTENSION, **env)
        assert code == 2 and "a worker is started by the supervisor" in text
        assert f"in {tmp_path}/cache/environments/" in text
    assert len(list((tmp_path / "cache/environments").iterdir())) == 2  # The environment and its lock.


def test_a_file_that_is_no_environment_is_told_by_name(tmp_path):
    (tmp_path / "env.tar.gz").write_text("no archive")
    env = {"NEREID_EXECUTION_ENV": str(tmp_path / "env.tar.gz"), "CACHE_DIRECTORY": str(tmp_path)}
    code, text = run(NEREID_PYTHON_EXTENSION=conftest.EXTENSION, **env)
    assert code == 77
    assert f"nereid_worker cannot start: {tmp_path}/env.tar.gz is no complete tar archive" in text
