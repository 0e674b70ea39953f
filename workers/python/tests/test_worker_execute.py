"""A model's life and its batches, as the supervisor sees them."""

import os
import time

import numpy as np
import pytest
from rig import BF16, Raw

# The stage of a heartbeat.
EXECUTING = 5

ADD_SUB = """
    import numpy as np
    import triton_python_backend_utils as pb_utils

    class TritonPythonModel:
        def execute(self, requests):
            responses = []
            for request in requests:
                a = pb_utils.get_input_tensor_by_name(request, "A").as_numpy()
                b = pb_utils.get_input_tensor_by_name(request, "B").as_numpy()
                outputs = [pb_utils.Tensor("SUM", a + b), pb_utils.Tensor("DIFFERENCE", a - b)]
                responses.append(pb_utils.InferenceResponse(output_tensors=outputs))
            return responses
"""

IDENTITY = """
    import triton_python_backend_utils as pb_utils

    class TritonPythonModel:
        def execute(self, requests):
            return [
                pb_utils.InferenceResponse([pb_utils.Tensor(t.name(), t.as_numpy()) for t in request.inputs()])
                for request in requests
            ]
"""


def execute(body, head=""):
    """A model whose execute is `body`."""
    lines = "\n".join("            " + line for line in body.strip().splitlines())
    return f"""
    import numpy as np
    import triton_python_backend_utils as pb_utils
    {head}
    class TritonPythonModel:
        def execute(self, requests):
{lines}
"""


def test_a_model_answers_each_request_of_a_batch(start):
    worker = start(ADD_SUB)
    a, b = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    first, second = worker.execute(worker.request(1, {"A": a, "B": b}), worker.request(2, {"A": b, "B": b}))
    assert first.error is None and first.final and first.ticket == 1
    assert first.outputs["SUM"].tolist() == [1, 2, 3, 4]
    assert first.outputs["DIFFERENCE"].tolist() == [-1, 0, 1, 2]
    assert second.outputs["SUM"].tolist() == [2, 2, 2, 2]


def test_the_worker_tells_its_runtime_and_stops_with_code_0(start):
    worker = start(ADD_SUB)
    assert worker.runtime.startswith("CPython 3.")
    assert worker.stop() == 0


def test_a_model_that_holds_the_interpreter_for_itself_does_not_stop_the_heartbeat(start, tmp_path):
    # A call through PyDLL keeps the lock, and this one waits for a byte.
    os.mkfifo(tmp_path / "pipe")
    source = execute(
        f"""
fd = os.open({str(tmp_path / "pipe")!r}, os.O_RDWR)
ctypes.PyDLL(None).read(fd, ctypes.create_string_buffer(1), 1)
return [pb_utils.InferenceResponse([]) for _ in requests]
""",
        head="import ctypes, os",
    )
    worker = start(source, beat_ms=10)
    worker.start(worker.request(1, {"X": np.ones(1, np.float32)}))
    deadline = time.monotonic() + 20
    while worker.heartbeat() < (EXECUTING, 200):
        assert time.monotonic() < deadline, worker.beats
    (tmp_path / "pipe").write_bytes(b"x")
    (response,) = worker.next_response()
    assert response.error is None


def test_outputs_that_were_not_asked_for_are_dropped(start):
    worker = start(ADD_SUB)
    one = np.ones(1, np.float32)
    assert list(worker.infer(requested=["SUM"], A=one, B=one).outputs) == ["SUM"]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"])
def test_integers_pass_unchanged(start, dtype):
    worker = start(IDENTITY)
    array = np.array([[0, 1], [1, 0]], dtype)
    assert np.array_equal(worker.infer(X=array).outputs["X"], array)


def test_floats_strings_scalars_and_empty_tensors_pass_unchanged(start):
    worker = start(IDENTITY)
    for array in (
        np.array([1.5, -2], np.float16),
        np.array([[1.5], [-2]], np.float64),
        np.array([[b"abc", b""], [b"\x00\xff", "é".encode()]], object),
        np.array(3.5, np.float32),
        np.zeros((0, 4), np.int32),
        np.zeros((2, 0), object),
        np.arange(300_000, dtype=np.int64).reshape(3, -1),
    ):
        response = worker.infer(X=array)
        assert response.error is None
        output = response.outputs["X"]
        assert output.dtype == array.dtype and output.shape == array.shape
        assert output.tolist() == array.tolist()


def test_arrays_that_are_not_contiguous_are_answered_in_c_order(start):
    worker = start(
        execute("return [pb_utils.InferenceResponse([pb_utils.Tensor('Y', requests[0].inputs()[0].as_numpy().T)])]")
    )
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert np.array_equal(worker.infer(X=array).outputs["Y"], array.T)


def test_bf16_passes_through_dlpack_only(start):
    worker = start(
        execute(
            """
t = requests[0].inputs()[0]
assert t.triton_dtype() == 14 and t.shape() == [2]
try:
    t.as_numpy()
    raise AssertionError("numpy has no such type")
except pb_utils.TritonModelException as error:
    assert "Tensor dtype is BF16 and cannot be converted to NumPy." in str(error)
return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("Y", t), t])]
"""
        )
    )
    data = b"\x80\x3f\x00\x40"
    response = worker.infer(X=Raw(BF16, [2], data))
    assert response.error is None
    assert {name: (raw.number, raw.shape, raw.data) for name, raw in response.outputs.items()} == {
        "X": (BF16, [2], data),
        "Y": (BF16, [2], data),
    }


def test_a_request_tells_all_about_itself(start):
    worker = start(
        execute(
            """
r = requests[0]
seen = [r.request_id(), r.correlation_id(), r.flags(), r.timeout(), r.parameters(), r.requested_output_names(),
        r.trace().get_context(), r.is_cancelled(), [t.is_cpu() for t in r.inputs()]]
return [pb_utils.InferenceResponse([pb_utils.Tensor("SEEN", np.array([repr(seen)], object))])]
"""
        )
    )

    def seen(**more):
        (response,) = worker.execute(worker.request(1, {"X": np.ones(1, np.int8)}, ["SEEN"], **more))
        return eval(response.outputs["SEEN"][0])

    full = {"id": "r1", "correlation": 42, "flags": 3, "timeout": 500, "parameters": {"p": 1, "q": True, "s": "t"}}
    assert seen(**full) == ["r1", 42, 3, 500, '{"p":1,"q":true,"s":"t"}', ["SEEN"], None, False, [True]]
    assert seen(correlation="a sequence")[1] == "a sequence"
    assert seen()[1] == 0 and seen()[4] == "{}"


def test_parameters_of_a_response_are_sent(start):
    worker = start(
        execute(
            "return [pb_utils.InferenceResponse([], parameters={'a': 1, 'b': True, 'c': 'text'}) for _ in requests]"
        )
    )
    response = worker.infer(X=np.ones(1, np.int8))
    assert response.error is None and response.outputs == {}
    assert response.parameters == [{1: [b"a"], 3: [1]}, {1: [b"b"], 2: [1]}, {1: [b"c"], 4: [b"text"]}]


def test_initialize_gets_the_arguments_and_finalize_is_called(start):
    worker = start(
        """
    import json, sys
    import triton_python_backend_utils as pb_utils

    class TritonPythonModel:
        def initialize(self, args):
            assert all(isinstance(value, str) for value in args.values())
            config = json.loads(args.pop("model_config"))
            print("initialized", config["name"], sorted(args.items()), pb_utils.get_model_dir())

        def execute(self, requests):
            return [pb_utils.InferenceResponse([]) for _ in requests]

        def finalize(self):
            print("finalized")
"""
    )
    assert worker.stop() == 0
    arguments = {
        "model_instance_device_id": "0",
        "model_instance_kind": "CPU",
        "model_instance_name": "m_0_0",
        "model_name": "m",
        "model_repository": str(worker.folder),
        "model_version": "1",
    }
    first, last = worker.stdout.read_text().splitlines()
    assert first == f"initialized m {sorted(arguments.items())} {worker.folder}"
    assert last == "finalized"


def test_what_a_model_prints_arrives_line_by_line(start):
    worker = start(execute("print('now'); return [pb_utils.InferenceResponse([]) for _ in requests]"))
    worker.infer(X=np.ones(1, np.int8))
    assert worker.stdout.read_text() == "now\n"


def test_a_model_is_imported_under_its_version_and_finds_its_helpers(start):
    worker = start(
        """
    import pickle, sys
    import beside, above
    from . import beside as relative
    import triton_python_backend_utils as pb_utils

    class Thing:
        pass

    class TritonPythonModel:
        def initialize(self, args):
            print(__name__, beside.WHO, relative.WHO, above.WHO, type(pickle.loads(pickle.dumps(Thing()))).__module__)
            print([entry.rsplit("/", 1)[-1] for entry in sys.path[-2:]])
""",
        filename="other.py",
        files={"1/beside.py": "WHO = 'beside'", "above.py": "WHO = 'above'"},
    )
    first, path = worker.stdout.read_text().splitlines()
    assert first == "1.other beside beside above 1.other"
    assert path == "['1', 'm']"


def test_a_coroutine_is_awaited_and_its_loop_lives_on(start):
    worker = start(
        """
    import asyncio
    import numpy as np
    import triton_python_backend_utils as pb_utils

    class TritonPythonModel:
        task = None

        async def execute(self, requests):
            if self.task is None:
                self.task = asyncio.ensure_future(asyncio.sleep(0, result=7))
            value = np.array([await self.task], np.int64)
            return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", value)]) for _ in requests]

        async def is_ready(self):
            return self.task is not None
"""
    )
    assert worker.check_ready()[0] is False
    for _ in range(2):
        assert worker.infer(X=np.ones(1, np.int8)).outputs["Y"].tolist() == [7]
    assert worker.check_ready() == (True, "UNKNOWN", "")


def test_log_lines_carry_the_place_in_the_model(start):
    worker = start(
        execute(
            """
pb_utils.Logger.log_info("first")
pb_utils.Logger.log("second", pb_utils.Logger.ERROR)
pb_utils.Logger.log_warn("third"); pb_utils.Logger.log_verbose("fourth")
return [pb_utils.InferenceResponse([]) for _ in requests]
"""
        )
    )
    worker.infer(X=np.ones(1, np.int8))
    worker.ping()
    path = str(worker.folder / "1/model.py")
    lines = (worker.folder / "1/model.py").read_text().splitlines()
    assert [(level, message, file) for level, message, file, _line in worker.logs] == [
        (1, "first", path),
        (3, "second", path),
        (2, "third", path),
        (0, "fourth", path),
    ]
    assert all(message in lines[line - 1] for _level, message, _file, line in worker.logs)


def test_a_forked_child_holds_none_of_the_worker_s_sockets(start):
    worker = start(
        execute(
            """
import os
pid = os.fork()
if pid == 0:
    paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
    links = [os.readlink(path) for path in paths if os.path.exists(path)]
    pb_utils.Logger.log_error("from the child")
    os._exit(sum(link.startswith("socket:") for link in links))
left = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
return [pb_utils.InferenceResponse([pb_utils.Tensor("LEFT", np.array([left]))]) for _ in requests]
"""
        )
    )
    assert worker.infer(X=np.ones(1, np.int8)).outputs["LEFT"].tolist() == [0]
    worker.ping()
    assert worker.logs == [] and "from the child" in worker.stderr.read_text()


def test_a_model_may_start_processes_of_its_own(start):
    worker = start(
        """
    import multiprocessing
    import numpy as np
    import triton_python_backend_utils as pb_utils

    def double(number):
        return pb_utils.Tensor("x", np.array([number * 2])).as_numpy()[0]

    class TritonPythonModel:
        def execute(self, requests):
            seen = []
            for way in ("spawn", "fork"):
                with multiprocessing.get_context(way).Pool(1) as pool:
                    seen.append(pool.apply(double, [21]))
            return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(seen))]) for _ in requests]
"""
    )
    response = worker.infer(X=np.ones(1, np.int8))
    assert response.error is None
    assert response.outputs["Y"].tolist() == [42, 42]
    assert worker.stop() == 0
