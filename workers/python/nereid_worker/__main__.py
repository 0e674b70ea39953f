"""The process's start: `python -m nereid_worker`, run by the supervisor with fd 3 (control) and fd 4 (execution).

It puts the interpreter into the state that a model may expect, loads the extension module and hands over to it.
It decides nothing about models.
"""

import os
import sys

CONTROL_FD = 3
EXECUTION_FD = 4

# Told to the supervisor only through the exit code: the handshake has not happened yet.
EXIT_NO_EXTENSION = 78
EXIT_NO_NUMPY = 79
EXIT_NO_ENVIRONMENT = 77

# An archive with the environment that the model wants to run in.
ENVIRONMENT_VARIABLE = "NEREID_EXECUTION_ENV"


def prepare_streams():
    """What a model prints comes out line by line: stdout is a pipe here, which Python would fill a block of first."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(line_buffering=True, errors="backslashreplace")


def prepare_path():
    """`-m` puts the current folder first; a `random.py` that happens to lie there must not become the model's."""
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]


def prepare_forks(extension):
    """A forked child (multiprocessing) must not hold the worker's sockets: it would keep them open after our death,
    and could speak on them. They are replaced, not closed, so that the numbers are not reused for something else."""

    def identity(fd):
        status = os.fstat(fd)
        return status.st_dev, status.st_ino

    # Taken now: the extension may duplicate the fds, and a duplicate is known by being the same socket.
    try:
        sockets = {identity(CONTROL_FD), identity(EXECUTION_FD)}
    except OSError:
        return  # Started by hand. The extension says so.

    def leave_sockets():
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for name in os.listdir("/proc/self/fd"):
            try:
                if identity(int(name)) in sockets:
                    os.dup2(null, int(name), inheritable=False)
            except OSError:
                pass  # The listing's own fd has been closed by now.
        os.close(null)
        extension.forked()

    os.register_at_fork(after_in_child=leave_sockets)


def enter_environment(archive):
    """Unpacks an archive and goes on in its interpreter, as the same process; returns only if that fails."""
    from nereid_worker import environment

    try:
        python = environment.unpack_cached(archive)
        folder = os.path.dirname(os.path.dirname(python))
        variables = {
            **os.environ,
            "PATH": os.pathsep.join([os.path.join(folder, "bin"), os.environ.get("PATH", os.defpath)]),
            "CONDA_PREFIX": folder,
            "VIRTUAL_ENV": folder,
        }
        os.execve(python, [python, "-m", "nereid_worker"], variables)
    except (environment.Refused, OSError) as error:
        print(f"nereid_worker cannot start: {error}", file=sys.stderr)
    return EXIT_NO_ENVIRONMENT


def main():
    prepare_streams()
    prepare_path()
    archive = os.environ.pop(ENVIRONMENT_VARIABLE, None)
    if archive:
        return enter_environment(archive)
    from nereid_worker import native

    try:
        extension = native.load()
    except ImportError as error:
        print(f"nereid_worker cannot start: {error}", file=sys.stderr)
        return EXIT_NO_EXTENSION
    try:
        import numpy  # noqa: F401  The slowest import, and every model needs it: do it before a model is waited for.
    except ImportError as error:
        print(
            f"nereid_worker cannot start: numpy cannot be imported by {sys.executable} ({error}); "
            "install it there (`pip install numpy`), or name another interpreter",
            file=sys.stderr,
        )
        return EXIT_NO_NUMPY
    prepare_forks(extension)
    from nereid_worker import api, host

    # The model's import of this name must find the worker's API whatever else lies on the path.
    sys.modules["triton_python_backend_utils"] = api
    return extension.run(host.Host())


# Guarded: multiprocessing's "spawn" imports this file again in each child.
if __name__ == "__main__":
    sys.exit(main())
