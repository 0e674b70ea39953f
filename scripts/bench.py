#!/usr/bin/env python3
"""Drives servers with wrk and prints, for each case, requests a second and CPU a request over all server processes.

Run through `scripts/bench`. Client and server share the machine, and the machine is noisy: the servers take turns, the
figures are medians, and only the ratio between servers of one run says anything. The CPU of a server is that of its
process and all below it, from /proc, so that workers count.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import bench_recovery

TICKS = os.sysconf("SC_CLK_TCK")
READY_SECONDS = 60
STARTS = 5

LUA = """
local file = io.open(os.getenv("BENCH_BODY"), "rb"); wrk.body = file:read("*a"); file:close()
wrk.method = "POST"
local length = os.getenv("BENCH_HEADER_LENGTH")
if length ~= "" then
  wrk.headers["Content-Type"] = "application/octet-stream"
  wrk.headers["Inference-Header-Content-Length"] = length
end
"""

CONFIG = """
max_batch_size: {batch}
input [{{ name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }}]
output [{{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }}]
instance_group [{{ kind: KIND_CPU count: {instances} }}]
"""

PYTHON_MODEL = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())])
            for r in requests
        ]
"""


class Case:
    """A request and the connections that send it."""

    def __init__(self, name, model, count, binary, connections):
        self.name, self.model, self.connections = name, model, connections
        values = [0.5 * number for number in range(count)]
        tensor = {"name": "INPUT0", "shape": [1, count], "datatype": "FP32"}
        output = {"name": "OUTPUT0"}
        if binary:
            tensor["parameters"] = {"binary_data_size": 4 * count}
            output["parameters"] = {"binary_data": True}
        else:
            tensor["data"] = values
        head = json.dumps({"inputs": [tensor], "outputs": [output]}, separators=(",", ":")).encode()
        self.body = head + struct.pack(f"<{count}f", *values) if binary else head
        self.header_length = str(len(head)) if binary else ""


CASES = {
    "json16": Case("16 FP32, JSON", "identity", 16, False, 32),
    "bin16": Case("16 FP32, binary", "identity", 16, True, 32),
    "bin16c1": Case("16 FP32, binary, 1 connection", "identity", 16, True, 1),
    "bin1m": Case("1 MB, binary", "identity", 1 << 18, True, 8),
    "py16": Case("16 FP32, binary, Python", "py_identity", 16, True, 32),
}


class Server:
    """A running server of either kind."""

    def __init__(self, name, command, environment, http, log):
        self.name, self.http = name, http
        begun = time.monotonic()
        with open(log, "wb") as output:
            self.process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() - begun > READY_SECONDS:
                self.stop()
                sys.exit(f"error: {name} is not ready; see {log}")
            time.sleep(0.001)
        self.start_ms = (time.monotonic() - begun) * 1000

    def ready(self):
        try:
            with socket.create_connection(("127.0.0.1", self.http), 1) as connection:
                connection.sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return b" 200 " in connection.recv(64)
        except OSError:
            return False

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def pids(self):
        """The process and all below it."""
        found, queue = [], [self.process.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                queue += map(int, children.read_text().split())
        return found

    def cpu_seconds(self):
        total = 0
        for pid in self.pids():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
        return total

    def rss_mb(self, pid=None):
        status = pathlib.Path(f"/proc/{pid or self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def free_ports(first):
    """Three ports in a row, below the kernel's range for clients."""
    for port in range(first, first + 1000, 4):
        try:
            for offset in range(3):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port + offset))
            return port
        except OSError:
            continue
    sys.exit("error: no free ports")


def write_repository(folder, identity_backend):
    """The models of the cases; `identity` is the server's own cheapest way to give a tensor back."""
    for name, instances in (("identity", 1), ("identity_pair", 2)):
        write_model(folder / name, identity_backend, instances)
    for name, instances in (("py_identity", 1), ("py_identity_pair", 2)):
        write_model(folder / name, "python", instances)
        (folder / name / "1" / "model.py").write_text(PYTHON_MODEL)
    return folder


def write_model(folder, backend, instances):
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(f'backend: "{backend}"\n' + CONFIG.format(batch=8, instances=instances))


def start_ours(options, repository, ports):
    command = [options.target / "nereid", "serve", f"--model-repository={repository}"]
    return Server("nereid", command + address_flags(ports), dict(os.environ), ports, options.cache / "bench-nereid.log")


def start_peer(options, repository, ports):
    """tritonserver out of the wheel: its libraries, and a backend folder with the right Python stub and our identity."""
    site = next((options.cache / "peer" / "lib").glob("python3.*/site-packages"))
    version = site.parent.name.removeprefix("python")
    triton = site / "pytriton" / "tritonserver"
    backends = options.cache / "peer-backends"
    if not backends.exists():
        shutil.copytree(triton / "backends", backends)
        stub = triton / "python_backend_stubs" / version / "triton_python_backend_stub"
        shutil.copy(stub, backends / "python")
    (backends / "identity").mkdir(exist_ok=True)
    library = backends / "identity" / "libtriton_identity.so"
    source = pathlib.Path(__file__).with_name("bench_identity.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    python = options.cache / "peer" / "bin"
    library = subprocess.check_output(
        [python / "python", "-c", "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))"], text=True
    ).strip()
    libraries = [site / "nvidia_pytriton.libs", triton / "external_libs", triton / "lib", library]
    environment = dict(
        os.environ,
        LD_LIBRARY_PATH=":".join(map(str, libraries)),
        PATH=f"{python}:{os.environ['PATH']}",
        PYTHONPATH=str(site),
    )
    command = [triton / "bin" / "tritonserver", f"--model-repository={repository}"]
    command += [f"--backend-directory={backends}", "--allow-gpu-metrics=false", *address_flags(ports)]
    return Server("triton", command, environment, ports, options.cache / "bench-triton.log")


def address_flags(ports):
    flags = []
    for offset, name in enumerate(("http", "grpc", "metrics")):
        flags += [f"--{name}-port={ports + offset}"]
        flags += [f"--{name}-address=127.0.0.1"]
    return flags


def drive(server, case, seconds, folder):
    """One run of wrk: requests a second, and the server's CPU microseconds a request."""
    body, script = folder / "body", folder / "post.lua"
    body.write_bytes(case.body)
    script.write_text(LUA)
    environment = dict(os.environ, BENCH_BODY=str(body), BENCH_HEADER_LENGTH=case.header_length)
    url = f"http://127.0.0.1:{server.http}/v2/models/{case.model}/infer"
    command = ["wrk", "-t1", f"-c{case.connections}", f"-d{seconds}s", "--latency", "-s", script, url]
    before = server.cpu_seconds()
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    used = server.cpu_seconds() - before
    if "Non-2xx" in output or "Socket errors" in output:
        sys.exit(f"error: {server.name}, {case.name}: {output}")
    requests = int(re.search(r"(\d+) requests in", output)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
    latency = re.search(r"50%\s+([\d.]+)(us|ms|s)", output)
    p50 = float(latency[1]) * {"us": 1, "ms": 1e3, "s": 1e6}[latency[2]]
    return rate, used / requests * 1e6, p50


def check_answer(server, case):
    """A server that answers wrongly fast is not fast."""
    headers = {"Inference-Header-Content-Length": case.header_length} if case.header_length else {}
    url = f"http://127.0.0.1:{server.http}/v2/models/{case.model}/infer"
    with urllib.request.urlopen(urllib.request.Request(url, case.body, headers), timeout=30) as response:
        answer = response.read()
    if case.header_length:
        ok = answer.endswith(case.body[int(case.header_length) :])
    else:
        ok = json.loads(answer)["outputs"][0]["data"] == json.loads(case.body)["inputs"][0]["data"]
    if not ok:
        sys.exit(f"error: {server.name} answers wrongly: {answer[:200]!r}")


def measure_start(start, folder):
    """Start to ready without models, and what the idle server then holds."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    times, memory = [], []
    for _ in range(STARTS):
        server = start(empty, free_ports(25000))
        times.append(server.start_ms)
        memory.append(server.rss_mb())
        server.stop()
    return statistics.median(times), statistics.median(memory)


def run_cases(options, servers, folder):
    results = {}
    for key in options.cases:
        case = CASES[key]
        for server in servers:
            check_answer(server, case)
            drive(server, case, 1, folder)  # Warm: connections, arenas, caches.
        runs = {server.name: [] for server in servers}
        for _ in range(options.repeat):
            for server in servers:
                runs[server.name].append(drive(server, case, options.seconds, folder))
        results[key] = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in runs.items()}
        print_case(case, results[key])
    return results


def print_case(case, result):
    line = f"{case.name:32}"
    for name, (rate, cpu, p50) in result.items():
        line += f" | {name}: {rate:8.0f}/s {cpu:7.1f} us CPU/request, p50 {p50:7.0f} us"
    if len(result) == 2:
        ours, peer = result["nereid"], result["triton"]
        line += f" | ratio: rate {ours[0] / peer[0]:.2f}x, CPU {ours[1] / peer[1]:.2f}x"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", action="store_true", help="measure tritonserver too, in turns")
    parser.add_argument("--recovery", action="store_true", help="only what the death of a worker costs")
    parser.add_argument("--seconds", type=int, default=5, help="of each run (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each case (default: %(default)s)")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="default: all")
    parser.add_argument("--target", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()

    starters = {"nereid": (start_ours, "echo")}
    if options.peer:
        starters["triton"] = (start_peer, "identity")
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="nereid-bench-") as name:
        folder, servers = pathlib.Path(name), []
        try:
            if options.recovery:
                repository = write_repository(folder / "nereid", "echo")
                models = [("identity", "bin16"), ("identity_pair", "bin16"), ("py_identity", "py16")]
                models.append(("py_identity_pair", "py16"))
                cases = [(model, CASES[case]) for model, case in models]
                return bench_recovery.measure(lambda: start_ours(options, repository, free_ports(25000)), cases)
            for kind, (start, backend) in starters.items():
                milliseconds, rss = measure_start(lambda path, ports, s=start: s(options, path, ports), folder)
                print(f"{kind}: ready after {milliseconds:.0f} ms without models, then {rss:.1f} MB RSS", flush=True)
                repository = write_repository(folder / kind, backend)
                servers.append(start(options, repository, free_ports(25000 + 1000 * len(servers))))
            run_cases(options, servers, folder)
            for server in servers:
                sizes = sorted((f"{server.rss_mb(pid):.0f}" for pid in server.pids()), key=float, reverse=True)
                print(f"{server.name}: RSS afterwards, MB: {' '.join(sizes)}")
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()
