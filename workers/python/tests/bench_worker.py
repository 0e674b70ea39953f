"""Numbers of one worker without a server: `python tests/bench_worker.py`, with the release build of the extension.

The worker's own overhead is what it adds around the model's execute: its times for inputs and outputs, and what is left
of the time in execute when the model's own clock is taken away. Medians."""

import pathlib
import statistics
import sys
import tempfile
import time

import conftest  # noqa: F401  Finds the extension.
import numpy as np
from rig import Worker

MODEL = """
    import time
    import triton_python_backend_utils as pb_utils

    class TritonPythonModel:
        spent = []
        def execute(self, requests):
            begin = time.perf_counter_ns()
            responses = []
            for request in requests:
                {body}
                responses.append(pb_utils.InferenceResponse(outputs))
            self.spent.append(time.perf_counter_ns() - begin)
            return responses
        def finalize(self):
            print(sorted(self.spent)[len(self.spent) // 2])
"""
IDENTITY = MODEL.format(
    body="outputs = [pb_utils.Tensor('Y', pb_utils.get_input_tensor_by_name(request, 'X').as_numpy())]"
)
ADD_SUB = MODEL.format(
    body="a, b = [t.as_numpy() for t in request.inputs()]; "
    "outputs = [pb_utils.Tensor('S', a + b), pb_utils.Tensor('D', a - b)]"
)


def measure(folder, name, source, inputs, batch, rounds=3000):
    worker = Worker(folder / f"{name} {batch}", source)
    placed = {key: worker.put(key, value) for key, value in inputs.items()}
    times, waits = [], []
    for _ in range(rounds):
        requests = [worker.request(ticket, placed) for ticket in range(1, batch + 1)]
        begin = time.perf_counter_ns()
        worker.start(*requests)
        while not isinstance(worker.next_response(), list):
            pass
        waits.append(time.perf_counter_ns() - begin)
        times.append(tuple(worker.timing[key] for key in (1, 2, 3)))
    worker.stop()
    spent = int(worker.stdout.read_text()) / batch
    parts = [statistics.median(part) / batch for part in zip(*times)]
    own = sum(parts) - spent
    print(
        f"{name}, batch {batch}: own {own / 1e3:.2f} us a request (inputs {parts[0] / 1e3:.2f}, around execute "
        f"{(parts[1] - spent) / 1e3:.2f}, outputs {parts[2] / 1e3:.2f}), in the model {spent / 1e3:.2f}, "
        f"p50 with the rig {statistics.median(waits) / 1e3 / batch:.1f}"
    )
    worker.close()


def start_up(folder, rounds=10):
    times = []
    for number in range(rounds):
        begin = time.perf_counter()
        worker = Worker(folder / f"start{number}", ADD_SUB)
        times.append(time.perf_counter() - begin)
        worker.close()
    print(f"spawn to Loaded: median {statistics.median(times) * 1e3:.0f} ms, best {min(times) * 1e3:.0f} ms")


def main():
    print(conftest.EXTENSION, sys.version.split()[0], "numpy", np.__version__)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        start_up(folder)
        small = np.arange(16, dtype=np.float32)
        large = np.zeros(1 << 18, np.float32)
        measure(folder, "identity 16 floats", IDENTITY, {"X": small}, 1)
        measure(folder, "identity 16 floats", IDENTITY, {"X": small}, 8)
        measure(folder, "add_sub 16 floats", ADD_SUB, {"A": small, "B": small}, 1)
        measure(folder, "identity 1 MB", IDENTITY, {"X": large}, 1)


if __name__ == "__main__":
    main()
