"""What the death of a worker costs: how long until the next good answer, with and without a second instance.

Part of `scripts/bench --recovery`. Workers are killed with SIGKILL by the process ids that the metrics show. The time of
a load is taken from the same server, so that what remains is the server's own: noticing, starting, greeting.
"""

import http.client
import os
import re
import signal
import statistics
import time
import urllib.request

KILLS = 5
WAIT_SECONDS = 30
# A request that fails within this many seconds of a kill was held by the worker.
ONE_SECOND = 1.0


def workers(server, model):
    """Process ids of a model's workers that are up."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http + 2}/metrics", timeout=10) as response:
        text = response.read().decode()
    lines = re.findall(r'^nereid_worker_pid\{([^}]*)\} (\d+)', text, re.M)
    return [int(pid) for labels, pid in lines if f'model="{model}"' in labels and int(pid)]


def load_seconds(server, model):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http + 2}/metrics", timeout=10) as response:
        text = response.read().decode()
    return float(re.search(rf'^nv_model_load_duration_secs\{{model="{model}"[^}}]*\}} ([\d.e-]+)', text, re.M)[1])


class Client:
    """One connection that asks again and again."""

    def __init__(self, server, case):
        self.case, self.connection = case, http.client.HTTPConnection("127.0.0.1", server.http, timeout=WAIT_SECONDS)
        self.headers = {"Inference-Header-Content-Length": case.header_length} if case.header_length else {}

    def ask(self, model):
        self.connection.request("POST", f"/v2/models/{model}/infer", self.case.body, self.headers)
        response = self.connection.getresponse()
        response.read()
        return response.status


def kill_and_ask(server, case, model):
    """Kills one worker and asks until the model answers well; seconds from the kill to that, and failed requests."""
    client = Client(server, case)
    while client.ask(model) != 200:
        pass
    pid = workers(server, model)[0]
    longest, failed = 0.0, 0
    killed = last_good = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    while True:
        status, now = client.ask(model), time.monotonic()
        if status == 200:
            longest, last_good = max(longest, now - last_good), now
            if now - killed > ONE_SECOND or pid not in workers(server, model):
                break
        else:
            failed += 1
        if now - killed > WAIT_SECONDS:
            raise SystemExit(f"error: {model} did not come back within {WAIT_SECONDS} s")
    return longest, failed


def measure(start, cases):
    """Prints a line for each (model, request). `start` starts a server: a new one for each kill, since a worker that dies
    again soon waits before it is started, by design."""
    for model, case in cases:
        runs, loads = [], []
        for _ in range(KILLS):
            server = start()
            try:
                runs.append(kill_and_ask(server, case, model))
                loads.append(load_seconds(server, model))
            finally:
                server.stop()
        gap = statistics.median(gap for gap, _ in runs) * 1000
        worst = max(gap for gap, _ in runs) * 1000
        failed = max(failed for _, failed in runs)
        load = statistics.median(loads) * 1000
        print(
            f"{model:20} | killed {KILLS} times: longest wait for a good answer {gap:.0f} ms (worst {worst:.0f}), "
            f"its load takes {load:.0f} ms; at most {failed} requests failed each time",
            flush=True,
        )
