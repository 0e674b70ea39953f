"""Archives with a model's environment are unpacked within their folder or not at all."""

import io
import os
import subprocess
import sys
import tarfile

import pytest
from nereid_worker import environment


def archive(path, *entries):
    """A tar file of (name, contents) and (name, ("link" | "hard" | "fifo" | "dir", target))."""
    with tarfile.open(path, "w:gz") as tar:
        for name, contents in [("bin/python", b"#!/bin/sh\n"), *entries]:
            member = tarfile.TarInfo(name)
            member.mode = 0o755
            if isinstance(contents, bytes):
                member.size = len(contents)
                tar.addfile(member, io.BytesIO(contents))
                continue
            kind, member.linkname = contents
            member.type = {
                "link": tarfile.SYMTYPE,
                "hard": tarfile.LNKTYPE,
                "fifo": tarfile.FIFOTYPE,
                "dir": tarfile.DIRTYPE,
            }[kind]
            tar.addfile(member)
    return path


def test_an_environment_is_unpacked_with_its_modes_and_links(tmp_path):
    entries = [
        ("lib", ("dir", "")),
        ("lib/a.txt", b"a"),
        ("bin/py", ("link", "python")),
        ("lib/b", ("hard", "lib/a.txt")),
    ]
    made = archive(tmp_path / "e.tar.gz", *entries)
    done = subprocess.run(
        [sys.executable, "-m", "nereid_worker.environment", "unpack", made, tmp_path / "deep/e"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(environment.__file__))},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path}/deep/e/bin/python\n", "")
    assert os.access(tmp_path / "deep/e/bin/py", os.X_OK)
    assert (tmp_path / "deep/e/lib/b").read_text() == "a"
    assert sorted(os.listdir(tmp_path / "deep")) == ["e"]


def test_an_unchanged_archive_is_not_unpacked_again_and_a_changed_one_is(tmp_path):
    made = archive(tmp_path / "e.tar", ("v", b"1"))
    environment.unpack(made, tmp_path / "e")
    (tmp_path / "e/mine").touch()
    environment.unpack(made, tmp_path / "e")
    assert (tmp_path / "e/mine").exists()
    archive(made, ("v", b"22"))
    environment.unpack(made, tmp_path / "e")
    assert (tmp_path / "e/v").read_bytes() == b"22" and not (tmp_path / "e/mine").exists()


@pytest.mark.parametrize(
    "entries",
    [
        [("../out", b"x")],
        [("lib/../../out", b"x")],
        [("/tmp/out", b"x")],
        [("out", ("link", "/etc"))],
        [("out", ("link", "../.."))],
        [("d", ("link", ".")), ("d/../out", b"x")],
        [("a/b/up", ("link", "../..")), ("q", ("link", "a/b/up/..")), ("q/out", b"x")],
        [("a/b/up", ("link", "../..")), ("q", ("link", "a/b/up/.."))],
        [("out", ("hard", "../../etc/passwd"))],
        [("out", ("fifo", ""))],
        [("bin/python", b"again")],
    ],
)
def test_what_would_leave_the_folder_is_refused_and_nothing_is_left(tmp_path, entries):
    made = archive(tmp_path / "e.tar", *entries)
    with pytest.raises(environment.Refused):
        environment.unpack(made, tmp_path / "e")
    assert os.listdir(tmp_path) == ["e.tar"]


@pytest.mark.parametrize("contents", [b"", b"no archive", None])
def test_what_is_no_archive_or_no_environment_is_refused(tmp_path, contents):
    made = tmp_path / "e.tar"
    if contents is not None:
        made.write_bytes(contents)
    with pytest.raises(environment.Refused, match="e.tar"):
        environment.unpack(made, tmp_path / "e")
    with tarfile.open(made, "w"):
        pass
    with pytest.raises(environment.Refused, match="no Python environment"):
        environment.unpack(made, tmp_path / "e")
