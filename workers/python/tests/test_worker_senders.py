"""Responses that are sent through senders instead of being returned."""

import numpy as np
import pytest
from test_worker_execute import execute

ONE = np.ones(1, np.int8)
FINAL = "pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL"
DECOUPLED = {"model_transaction_policy": {"decoupled": True}}
ANSWER = "pb_utils.InferenceResponse([pb_utils.Tensor('Y', np.array([{}]))])"


def test_a_sender_answers_instead_of_the_list(start):
    body = f"requests[0].get_response_sender().send({ANSWER.format(5)}, flags={FINAL}); return [None]"
    assert start(execute(body)).infer(X=ONE).outputs["Y"].tolist() == [5]
    assert start(execute(body.replace("[None]", "None"))).infer(X=ONE).outputs["Y"].tolist() == [5]


def test_a_sender_may_answer_from_another_thread_after_execute_returned(start):
    worker = start(
        execute(
            f"""
import threading, time
def answer(sender):
    time.sleep(0.05)
    sender.send({ANSWER.format(6)}, flags={FINAL})
for request in requests:
    threading.Thread(target=answer, args=[request.get_response_sender()]).start()
return None
"""
        )
    )
    responses = worker.execute(worker.request(1, {"X": ONE}), worker.request(2, {"X": ONE}))
    assert [response.outputs["Y"].tolist() for response in responses] == [[6], [6]]


@pytest.mark.parametrize(
    "calls, text",
    [
        ("s.send(r, flags=2)", "Unable to send response. Unsupported flag provided."),
        ("s.send()", "Inference Response object must be provided when the response flags is set to zero."),
        ("s.send(r); s.send(r)", "Unable to send response. Non-decoupled model cannot send more than one response."),
        (
            f"s.send(flags={FINAL})",
            "Unable to send response. Non-decoupled model cannot send complete final before sending a response.",
        ),
        (f"s.send(r, {FINAL}); s.send(flags={FINAL})", "Unable to send response. Response sender has been closed."),
    ],
)
def test_wrong_use_of_a_sender_raises(start, calls, text):
    worker = start(
        execute(
            f"""
s, r = requests[0].get_response_sender(), {ANSWER.format(5)}
try:
    {calls}
except pb_utils.TritonModelException as error:
    pb_utils.Logger.log_info(str(error))
return None
"""
        )
    )
    worker.infer(X=ONE)
    worker.ping()
    assert worker.logs[0][1] == text


def test_a_request_that_was_answered_by_its_sender_may_not_be_answered_again(start):
    body = f"requests[0].get_response_sender().send({ANSWER.format(5)}); return [{ANSWER.format(6)}]"
    error = start(execute(body)).infer(X=ONE).error
    assert error.endswith("Unable to send response. Non-decoupled model cannot send more than one response.")


def test_a_decoupled_model_streams_while_it_executes(start):
    worker = start(
        execute(
            f"""
import os, time
sender = requests[0].get_response_sender()
for number in range(3):
    sender.send({ANSWER.format("number")})
while not os.path.exists(requests[0].request_id()):
    time.sleep(0.001)
sender.send(flags={FINAL})
"""
        ),
        config=DECOUPLED,
    )
    go = worker.folder / "go"
    worker.start(worker.request(1, {"X": ONE}, id=str(go)))
    for number in range(3):
        response = worker.next_response()
        assert response.outputs["Y"].tolist() == [number] and not response.final
    go.touch()
    last = worker.next_response()
    assert last.final and last.outputs == {} and last.error is None
    assert worker.next_response() == []


def test_a_decoupled_coroutine_streams_too(start):
    worker = start(
        """
    import asyncio
    import numpy as np
    import triton_python_backend_utils as pb_utils

    class TritonPythonModel:
        async def execute(self, requests):
            await asyncio.gather(*map(self.answer, requests))

        async def answer(self, request):
            sender = request.get_response_sender()
            for number in range(2):
                await asyncio.sleep(0.01)
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([number]))]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
""",
        config=DECOUPLED,
    )
    last = worker.execute(worker.request(1, {"X": ONE}), worker.request(2, {"X": ONE}))
    assert [response.outputs for response in last] == [{}, {}]
    assert sorted(r.ticket for r in worker.early if not r.final) == [1, 1, 2, 2]


def test_a_decoupled_model_may_return_nothing_else(start):
    worker = start(execute("return [None]"), config=DECOUPLED)
    assert worker.infer(X=ONE).error.endswith(
        "Python model 'm_0_0' is using the decoupled mode and the execute function must return None."
    )


def test_an_exception_ends_streams_that_are_open(start):
    worker = start(
        execute(
            f"""
first, second = [request.get_response_sender() for request in requests]
first.send({ANSWER.format(1)}, {FINAL})
second.send({ANSWER.format(2)})
self.senders = first, second
raise KeyError("gone")
"""
        ),
        config=DECOUPLED,
    )
    first, second = worker.execute(worker.request(1, {"X": ONE}), worker.request(2, {"X": ONE}))
    assert first.error is None and first.outputs["Y"].tolist() == [1]
    assert second.code == "INTERNAL" and "KeyError: 'gone'" in second.error


def test_a_cancelled_request_is_told_on_every_thread(start):
    worker = start(
        execute(
            """
import threading, time
def watch(request, sender):
    while not request.is_cancelled():
        time.sleep(0.001)
    error = pb_utils.TritonError("stopped", pb_utils.TritonError.CANCELLED)
    sender.send(pb_utils.InferenceResponse(error=error), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
for request in requests:
    if request.request_id() == "here":
        while not request.is_cancelled():
            time.sleep(0.001)
    threading.Thread(target=watch, args=[request, request.get_response_sender()]).start()
"""
        )
    )
    for place in ("here", "there"):
        worker.start(worker.request(1, {"X": ONE}, id=place))
        worker.cancel(1)
        response = worker.next_response()
        assert response.code == "CANCELLED" and response.error == "stopped"
        assert worker.next_response() == []
