"""Unpacks a model's own Python environment: `python -m nereid_worker.environment unpack ARCHIVE FOLDER`.

The archive is what conda-pack makes: a tar file, compressed or not, with `bin/` at its top. It prints the
interpreter in it. An archive that was unpacked to that folder before and has not changed since is left as it is.

A worker whose model names such an archive unpacks it before it goes on in the environment's interpreter: an archive
is input from outside, and unpacking one may take minutes, so the supervisor does not. Nothing of the environment is run
here, and nothing of numpy or the extension module is needed. Entries that would leave the folder, links that point out of it and special files are refused, and then
nothing is left behind.
"""

import fcntl
import hashlib
import json
import os
import shutil
import sys
import tarfile
import tempfile

MARK = ".nereid-environment.json"
MAX_ENTRIES = 2_000_000
MAX_BYTES = 100 << 30
_COPY_BYTES = 1 << 20


class Refused(Exception):
    """The archive or folder cannot be used; the text says why."""


def interpreter(folder):
    """The interpreter of an unpacked environment."""
    for name in ("python3", "python"):
        path = os.path.join(folder, "bin", name)
        if os.access(path, os.X_OK):
            return path
    raise Refused(f"{folder} has no bin/python: it is no Python environment")


def unpack(archive, folder):
    """Unpacks unless that was done before; returns the interpreter."""
    try:
        status = os.stat(archive)
    except OSError as error:
        raise Refused(f"the environment {archive} cannot be read: {error.strerror}") from None
    mark = {"archive": os.path.abspath(archive), "mtime_ns": status.st_mtime_ns, "bytes": status.st_size}
    if _read_mark(folder) == mark:
        return interpreter(folder)
    parent = os.path.dirname(os.path.abspath(folder))
    os.makedirs(parent, exist_ok=True)
    # Beside the folder, so that the finished environment takes its place in one step.
    fresh = tempfile.mkdtemp(prefix=".unpacking-", dir=parent)
    try:
        _extract(archive, fresh)
        interpreter(fresh)
        with open(os.path.join(fresh, MARK), "w") as file:
            json.dump(mark, file)
        os.chmod(fresh, 0o755)
        if os.path.lexists(folder):
            # A worker may still run from the old one: its open files live on.
            old = tempfile.mkdtemp(prefix=".replaced-", dir=parent)
            os.rename(folder, os.path.join(old, "environment"))
            shutil.rmtree(old, ignore_errors=True)
        os.rename(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return interpreter(folder)


def unpack_cached(archive):
    """Unpacks to this user's cache, once for all workers that want it; returns the interpreter."""
    archive = os.path.abspath(archive)
    cache = os.path.join(_cache_folder(), "environments")
    os.makedirs(cache, mode=0o700, exist_ok=True)
    folder = os.path.join(cache, hashlib.sha256(os.fsencode(archive)).hexdigest()[:32])
    # Several instances of a model start at once: one unpacks, the others wait for it.
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return unpack(archive, folder)


def _cache_folder():
    """systemd's, the user's, or one of our own: never a name that another user could have taken."""
    if folder := os.environ.get("CACHE_DIRECTORY"):
        return folder.split(":")[0]
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return os.path.join(folder, "nereid")
    if folder := os.environ.get("HOME"):
        return os.path.join(folder, ".cache", "nereid")
    return tempfile.mkdtemp(prefix="nereid-")


def _read_mark(folder):
    try:
        with open(os.path.join(folder, MARK)) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _extract(archive, target):
    target = os.path.realpath(target)
    left = MAX_BYTES
    try:
        with tarfile.open(archive) as tar:
            for count, member in enumerate(tar):
                left -= max(member.size, 0)
                if count >= MAX_ENTRIES or left < 0:
                    raise Refused(f"{archive} holds more than {MAX_ENTRIES} entries or {MAX_BYTES} bytes")
                _extract_one(tar, member, target)
    except tarfile.TarError as error:
        raise Refused(f"{archive} is no complete tar archive: {error}") from None
    # Links may point at each other, so where they lead is only known now.
    for place, folders, files in os.walk(target):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            if os.path.islink(path) and not _is_inside(os.path.realpath(path), target):
                raise Refused(f"{archive}: the link {os.path.relpath(path, target)} points out of the environment")


def _extract_one(tar, member, target):
    name = member.name
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise Refused(f"{tar.name}: the entry {name!r} would leave the environment")
    if not parts:
        return
    parent = os.path.join(target, *parts[:-1])
    # What was extracted before may be a link.
    if not _is_inside(os.path.realpath(parent), target):
        raise Refused(f"{tar.name}: the entry {name!r} would leave the environment")
    os.makedirs(parent, exist_ok=True)
    path = os.path.join(parent, parts[-1])
    if member.isdir():
        os.makedirs(path, exist_ok=True)
        return
    if os.path.lexists(path):
        raise Refused(f"{tar.name}: the entry {name!r} is there twice")
    if member.isfile():
        mode = 0o755 if member.mode & 0o111 else 0o644
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
            shutil.copyfileobj(tar.extractfile(member), file, _COPY_BYTES)
    elif member.issym():
        if os.path.isabs(member.linkname):
            raise Refused(f"{tar.name}: the link {name!r} points out of the environment")
        os.symlink(member.linkname, path)
    elif member.islnk():
        source = os.path.join(target, member.linkname)
        if not _is_inside(os.path.realpath(source), target) or not os.path.isfile(source):
            raise Refused(f"{tar.name}: the link {name!r} points out of the environment")
        os.link(source, path, follow_symlinks=False)
    else:
        raise Refused(f"{tar.name}: the entry {name!r} is neither file, folder nor link")


def _is_inside(path, target):
    return path == target or path.startswith(target + os.sep)


def main(arguments):
    if len(arguments) != 3 or arguments[0] != "unpack":
        print("usage: python -m nereid_worker.environment unpack ARCHIVE FOLDER", file=sys.stderr)
        return 2
    try:
        print(unpack(arguments[1], arguments[2]))
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
