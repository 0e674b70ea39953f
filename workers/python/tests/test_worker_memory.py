"""Inputs without a copy, and models that keep them beyond their batch.

The rig writes each input to the same place, as a supervisor may: whoever still looks there must not see it."""

import numpy as np
import pytest

PAGE = 4096
LARGE = 40_000
CLEAN_BATCHES = 256

KEEPER = """
    import numpy as np
    import triton_python_backend_utils as pb_utils

    class Late:
        def __init__(self, request):
            self.request = request

        def __array__(self, **_):
            return self.request.inputs()[0].as_numpy()

    class TritonPythonModel:
        kept = []

        def execute(self, requests):
            if len(requests) > 1:
                self.kept += [request.inputs()[0].as_numpy() for request in requests]
                return [pb_utils.InferenceResponse([]) for _ in requests]
            (x,) = requests[0].inputs()
            now = x.as_numpy()
            looks = [np.asarray(array) for array in [*self.kept, now]]
            seen = [int(array[0]) for array in looks]
            constant = all((array == array[0]).all() for array in looks)
            match requests[0].request_id():
                case "array":
                    self.kept.append(now)
                case "slice":
                    self.kept.append(now[100:200])
                case "memoryview":
                    self.kept.append(memoryview(now))
                case "request":
                    self.kept.append(Late(requests[0]))
                case "drop":
                    self.kept.clear()
                case "write":
                    now[:] = 99
                case "raise":
                    try:
                        self.kept.append(now)
                        raise ValueError
                    except ValueError as error:
                        self.error = error
            outputs = [pb_utils.Tensor("SEEN", np.array(seen)), pb_utils.Tensor("CONSTANT", np.array([constant]))]
            return [pb_utils.InferenceResponse(outputs)]
"""


class Rig:
    """Sends constant arrays to one place."""

    def __init__(self, worker):
        self.worker = worker
        worker.put("", np.zeros(8 * LARGE, np.uint8))

    def send(self, value, doing="", offset=0, length=LARGE):
        """What the model sees: the value of each array that it keeps, then that of the input."""
        x = self.worker.put("X", np.full(length, value, np.uint8), offset)
        (response,) = self.worker.execute(self.worker.request(1, {"X": x}, id=doing))
        assert response.error is None
        assert response.outputs["CONSTANT"].tolist() == [True]
        return response.outputs["SEEN"].tolist()

    def is_lent(self):
        """Whether what the model writes to its input arrives in the arena."""
        self.send(1, "write")
        return self.worker.inputs.memory[:LARGE] == b"c" * LARGE


@pytest.fixture
def rig(start):
    return Rig(start(KEEPER))


def test_a_large_input_is_not_copied_and_a_small_one_is(rig):
    assert rig.is_lent()
    rig.send(1, "write", length=100)
    assert rig.worker.inputs.memory[0] == 1


@pytest.mark.parametrize("way", ["array", "slice", "memoryview", "request", "raise"])
def test_what_a_model_keeps_never_changes(rig, way):
    assert rig.send(1, way) == [1]
    assert rig.send(2) == [1, 2]
    assert rig.send(3, way) == [1, 3]
    assert rig.send(4) == [1, 3, 4]
    assert rig.send(5, "drop") == [1, 3, 5]
    assert rig.send(6) == [6]


def test_neighbours_of_kept_memory_are_read_where_they_are_now(rig):
    start = 5 * 64
    assert rig.send(1, "array", offset=start) == [1]
    for offset in (0, 64, start + 64, start + LARGE - 64, start + LARGE, PAGE, start + LARGE + PAGE):
        for length in (64, LARGE, 3 * LARGE):
            assert rig.send(2, offset=offset // 64 * 64, length=length) == [1, 2]


def test_a_model_may_keep_the_inputs_of_every_batch(rig):
    for value in range(1, 200):
        assert rig.send(value, "array") == list(range(1, value + 1))


def test_inputs_are_lent_again_when_the_model_has_kept_none_for_a_while(rig):
    rig.send(1, "array")
    assert not rig.is_lent()
    rig.send(2, "drop")
    for _ in range(CLEAN_BATCHES):
        rig.send(3)
    assert rig.is_lent()


def test_neighbours_in_one_batch_are_kept_together(rig):
    places = [0, LARGE, 2 * LARGE, 4 * LARGE]
    requests = [
        rig.worker.request(ticket, {"X": rig.worker.put("X", np.full(LARGE, ticket, np.uint8), place)}, id="array")
        for ticket, place in enumerate(places, 1)
    ]
    assert all(response.error is None for response in rig.worker.execute(*requests))
    assert rig.send(9, length=5 * LARGE) == [1, 2, 3, 4, 9]
    assert rig.send(8, "drop", length=5 * LARGE) == [1, 2, 3, 4, 8]
    for _ in range(CLEAN_BATCHES):
        rig.send(7, length=5 * LARGE)
    assert rig.is_lent()
    # What was moved back is moved again together with what never was.
    assert rig.send(6, "array", length=7 * LARGE) == [6]
    assert rig.send(5, length=7 * LARGE) == [6, 5]
    rig.worker.ping()
    assert all(level == 1 for level, *_rest in rig.worker.logs)


def test_memory_that_is_kept_stays_when_its_segment_is_removed(rig):
    rig.send(1, "array")
    rig.worker.remove_inputs()
    assert rig.send(2) == [1, 2]
    assert rig.send(3, "drop") == [1, 3]
    assert rig.send(4) == [4]


def test_the_operator_is_told_once(rig):
    for value in range(1, 5):
        rig.send(value, "array")
    rig.worker.ping()
    assert [message for _level, message, *_place in rig.worker.logs] == [
        "model instance 'm_0_0' keeps input arrays beyond execute; its large inputs are copied from now on"
    ]
