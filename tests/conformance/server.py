"""The server under test: started on free ports, and gone when the tests end, however they end."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
READY_SECONDS = 120
STOP_SECONDS = 30
# Below the kernel's range for clients, and away from the ports that the Rust suites take.
FIRST_PORT, LAST_PORT = 15000, 19990


class Server:
    """`with Server(folder) as server:` — `server.http`, `server.grpc` and `server.metrics` are its ports."""

    def __init__(self, repository, *flags):
        self.repository, self.flags = pathlib.Path(repository), flags
        self.log = self.repository.with_suffix(".log")
        self.process = None

    def __enter__(self):
        program = TARGET / "debug" / "nereid"
        if not program.is_file():
            raise FileNotFoundError(f"{program} is missing: run 'cargo build --workspace' first")
        self._reservation, (self.http, self.grpc, self.metrics) = reserve_ports()
        command = [program, "serve", f"--model-repository={self.repository}"]
        for name in ("http", "grpc", "metrics"):
            command += [f"--{name}-address=127.0.0.1", f"--{name}-port={getattr(self, name)}"]
        # The workers find Python, numpy and ONNX Runtime through the first Python on PATH: this one.
        environment = dict(os.environ, PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*command, *self.flags], stdout=log, stderr=log, env=environment)
        try:
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._reservation.close()

    def wait_ready(self):
        deadline = time.monotonic() + READY_SECONDS
        while self.get("/v2/health/ready") != 200:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server is not ready (exit code {self.process.poll()}):\n{self.log_tail()}")
            time.sleep(0.02)

    def get(self, path):
        """The status of a GET; None when nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=10) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def metrics_text(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=10) as response:
            return response.read().decode()

    def log_tail(self, lines=60):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def reserve_ports():
    """Three free ports in a row, and a socket whose abstract name reserves them until it is closed."""
    for first in range(FIRST_PORT + os.getpid() % 1000 * 4, LAST_PORT, 4):
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0nereid-test-ports-{first}")
            for port in range(first, first + 3):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
            return reservation, (first, first + 1, first + 2)
        except OSError:
            reservation.close()
    raise RuntimeError(f"no free ports between {FIRST_PORT} and {LAST_PORT}")
