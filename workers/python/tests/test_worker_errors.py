"""What clients and the operator read when a model breaks a rule, raises, or goes."""

import numpy as np
import pytest
from rig import Died
from test_worker_execute import execute

PREFIX = "Failed to process the request(s) for model 'm_0_0', message: "
ONE = np.ones(1, np.int8)


def error_of(worker, count=1):
    responses = worker.execute(*[worker.request(ticket + 1, {"X": ONE}) for ticket in range(count)])
    (error,) = {(response.code, response.error) for response in responses}
    assert error[0] == "INTERNAL" and error[1].startswith(PREFIX)
    return error[1].removeprefix(PREFIX)


def test_an_exception_fails_the_batch_and_tells_where_it_happened(start):
    worker = start(
        """
    import triton_python_backend_utils as pb_utils

    def helper():
        raise ValueError("not today")

    class TritonPythonModel:
        calls = 0

        def execute(self, requests):
            self.calls += 1
            if self.calls == 1:
                helper()
            return [pb_utils.InferenceResponse([]) for _ in requests]
"""
    )
    path = worker.folder / "1/model.py"
    expected = f"ValueError: not today\n\nAt:\n  {path}(5): helper\n  {path}(13): execute\n"
    assert error_of(worker, 2) == expected
    worker.ping()
    assert worker.logs[0][:2] == (3, PREFIX + expected)
    # The process lives on.
    assert worker.infer(X=ONE).error is None


@pytest.mark.parametrize(
    "returned, text",
    [
        ("{}", "Expected a list in the execute return, found type '<class 'dict'>'."),
        ("(None, None)", "Expected a list in the execute return, found type '<class 'tuple'>'."),
        (
            "[]",
            "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
            "InferenceRequest(s) size is:2, and InferenceResponse(s) size is:0",
        ),
        (
            "[pb_utils.InferenceResponse([]), 7]",
            "Expected an 'InferenceResponse' object in the execute function return list, found type '<class 'int'>'.",
        ),
    ],
)
def test_a_wrong_return_value_fails_the_batch(start, returned, text):
    assert error_of(start(execute(f"return {returned}")), 2) == text


def test_a_rescheduled_request_may_have_no_response(start):
    head = "reschedule = pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE"
    body = "requests[0].set_release_flags(reschedule); return [pb_utils.InferenceResponse([])]"
    assert error_of(start(execute(body, head))) == (
        "Expected a None object in the execute function return list for reschduled request, found type "
        "'<class 'triton_python_backend_utils.InferenceResponse'>'."
    )
    response = start(execute("requests[0].set_release_flags(reschedule); return [None]", head)).infer(X=ONE)
    assert response.code == "UNSUPPORTED" and "cannot be rescheduled" in response.error


def test_a_missing_execute_is_told_with_the_file(start):
    worker = start("class TritonPythonModel: pass")
    assert error_of(worker) == f"Python model {worker.folder}/1/model.py does not implement `execute` method."
    assert worker.logs[0][0] == 2


def test_an_error_response_fails_one_request_with_its_code(start):
    worker = start(
        execute(
            """
error = pb_utils.TritonError("too old", pb_utils.TritonError.CANCELLED)
return [pb_utils.InferenceResponse(error=error), pb_utils.InferenceResponse([], error=pb_utils.TritonError("x")),
        pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.ones(1))])]
"""
        )
    )
    responses = worker.execute(*[worker.request(ticket, {"X": ONE}) for ticket in (1, 2, 3)])
    assert [(response.code, response.error) for response in responses] == [
        ("CANCELLED", "too old"),
        ("INTERNAL", "x"),
        (None, None),
    ]


def test_a_none_without_a_sender_leaves_only_its_request_without_an_answer(start):
    worker = start(execute("return [None, pb_utils.InferenceResponse([])]"))
    first, second = worker.execute(worker.request(1, {"X": ONE}), worker.request(2, {"X": ONE}))
    assert first.code == "INTERNAL" and second.error is None


def test_sys_exit_in_execute_ends_the_process_with_its_code(start):
    worker = start(execute("import sys; sys.exit(3)"))
    with pytest.raises(Died, match=r"the model called sys.exit\(3\) in execute"):
        worker.infer(X=ONE)
    assert worker.wait() == 3


def test_other_calls_to_other_models_are_refused_with_a_reason(start):
    worker = start(
        execute(
            """
request = pb_utils.InferenceRequest(model_name="other", inputs=[], requested_output_names=["Y"])
texts = []
for call in (request.exec, request.async_exec, lambda: pb_utils.load_model("x"), lambda: pb_utils.unload_model("x"),
             lambda: pb_utils.is_model_ready("x")):
    try:
        call()
    except pb_utils.TritonModelException as error:
        texts.append(str(error))
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(texts, object))])]
"""
        )
    )
    texts = [item.decode() for item in worker.infer(X=ONE).outputs["Y"]]
    assert len(texts) == 5 and all("this server does not offer" in text for text in texts)
    assert texts[0].startswith("Failed for execute the inference request. Model 'other'")


@pytest.mark.parametrize(
    "source, text",
    [
        ("raise RuntimeError('no luck')", "RuntimeError: no luck\n\nAt:\n"),
        ("x = 1", "AttributeError: module '1.model' has no attribute 'TritonPythonModel'"),
        ("def broken(", "SyntaxError: "),
        ("class TritonPythonModel:\n    def initialize(self, args):\n        1 / 0", "ZeroDivisionError: "),
        ("import sys\nclass TritonPythonModel:\n    def initialize(self, args):\n        sys.exit(4)", "SystemExit: 4"),
    ],
)
def test_a_load_fails_with_the_model_s_own_words(start, source, text):
    worker = start(source, load=False)
    assert worker.load().startswith(text)
    assert worker.stop() == 0


def test_a_missing_file_is_told_with_its_path(start):
    worker = start("", load=False)
    (worker.folder / "1/model.py").unlink()
    assert worker.load() == f"Python model file not found in '{worker.folder}/1/model.py'"


def test_a_failing_finalize_is_logged_and_does_not_hold_the_stop(start):
    worker = start("class TritonPythonModel:\n    def finalize(self):\n        raise OSError('stuck')")
    assert worker.stop() == 0
    assert any("finalize" in message and "OSError: stuck" in message for _level, message, *_place in worker.logs)


@pytest.mark.parametrize(
    "ready, answer",
    [
        ("True", (True, "UNKNOWN", "")),
        ("False", (False, "UNAVAILABLE", "Model 'm_0_0' is not ready (user-defined check failed).")),
        ("1", (False, "INTERNAL", "is_ready() must return a boolean value")),
    ],
)
def test_the_model_s_own_readiness_is_told(start, ready, answer):
    assert start(f"class TritonPythonModel:\n    def is_ready(self):\n        return {ready}").check_ready() == answer


def test_the_end_of_the_supervisor_ends_the_worker(start):
    worker = start(execute("return [pb_utils.InferenceResponse([]) for _ in requests]"))
    worker.execution.close()
    assert worker.wait() == 0
