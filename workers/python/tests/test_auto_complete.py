"""Configurations that models complete themselves."""

import json

import pytest
from nereid_worker.auto_complete import ModelConfig
from wire import decode, numbers, one, text


def config(**fields):
    return ModelConfig(json.dumps({"name": "m", **fields}))


X = {"name": "x", "data_type": "TYPE_FP32", "dims": [2]}


def test_an_empty_configuration_is_filled_in():
    made = config()
    made.set_max_batch_size(8)
    made.set_dynamic_batching()
    made.set_dynamic_batching()
    made.add_input({**X, "optional": True})
    made.add_output({**X, "name": "y"})
    made.set_model_transaction_policy({"decoupled": True})
    assert made.as_dict() == {
        "name": "m",
        "max_batch_size": 8,
        "input": [{**X, "optional": True}],
        "output": [{**X, "name": "y"}],
        "dynamic_batching": {},
        "model_transaction_policy": {"decoupled": True},
    }


def test_what_is_configured_and_equal_stays_and_gaps_are_filled():
    made = config(max_batch_size=2, input=[{"name": "x", "format": "F"}], output=[dict(X)])
    made.set_max_batch_size(8)
    made.add_input(X)
    made.add_output(X)
    assert made.as_dict()["max_batch_size"] == 8
    assert made.as_dict()["input"] == [{**X, "format": "F"}] and made.as_dict()["output"] == [X]


PLACE = "in auto-complete-config function for model 'm'"


@pytest.mark.parametrize(
    "change, text",
    [
        (
            lambda c: c.set_max_batch_size(1),
            f"configuration specified max_batch_size 4, but {PLACE} specified max_batch_size 1",
        ),
        (
            lambda c: c.set_dynamic_batching(),
            "Configuration specified scheduling_choice as 'sequence_batching', but auto-complete-config function for "
            "model 'm' tries to set scheduling_choice as 'dynamic_batching'",
        ),
        (
            lambda c: c.add_input({**X, "kind": 1}),
            f"input 'x' {PLACE} contains property other than 'name', 'data_type', 'dims' and 'optional'.",
        ),
        (
            lambda c: c.add_output({**X, "optional": True}),
            f"output 'x' {PLACE} contains property other than 'name', 'data_type' and 'dims'.",
        ),
        (lambda c: c.add_input({"dims": [1]}), f"input {PLACE} is missing 'name' property."),
        (lambda c: c.add_input({"name": "x", "dims": [1]}), f"input 'x' {PLACE} is missing 'data_type' property."),
        (
            lambda c: c.add_output({"name": "x", "data_type": "TYPE_FP32"}),
            f"output 'x' {PLACE} is missing 'dims' property.",
        ),
        (
            lambda c: c.add_input({**X, "data_type": "TYPE_INT8"}),
            "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'x', model provides TYPE_INT8",
        ),
        (
            lambda c: c.add_input({**X, "dims": [3]}),
            "model 'm', tensor 'x': the model expects dims [3] but the model configuration specifies dims [2]",
        ),
        (
            lambda c: c.add_input({**X, "optional": True}),
            "model 'm', tensor 'x': the model expects optional True but the model configuration specifies optional False",
        ),
        (
            lambda c: c.set_model_transaction_policy({"decoupled": True, "x": 1}),
            f"model transaction property {PLACE} contains property other than 'decoupled'.",
        ),
        (
            lambda c: c.set_model_transaction_policy({"decoupled": True}),
            "trying to change decoupled property in auto-complete-config for model 'm', which is already set to 'False'.",
        ),
    ],
)
def test_what_contradicts_the_configuration_is_refused(change, text):
    made = config(
        max_batch_size=4,
        input=[{**X, "optional": False}],
        sequence_batching={},
        model_transaction_policy={"decoupled": False},
    )
    with pytest.raises(ValueError) as caught:
        change(made)
    assert str(caught.value) == text


MODEL = """
    class TritonPythonModel:
        @staticmethod
        def auto_complete_config(config):
            {body}

        def initialize(self, args):
            print("ready")
"""


def described(start, body, **config):
    worker = start(MODEL.format(body=body), config=config, load=False)
    answer = worker.describe()
    assert isinstance(answer, str) or worker.load() is None
    return answer


def test_a_worker_sends_the_completed_configuration_and_loads_the_model_after_that(start):
    body = """
            config.set_max_batch_size(8)
            config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [-1, 2]})
            config.add_input({"name": "old", "data_type": "TYPE_STRING", "dims": [1]})
            config.add_output({"name": "y", "data_type": "TYPE_INT8", "dims": [1]})
            config.set_dynamic_batching()
            return config
    """
    answer = described(start, body, input=[{"name": "old"}])
    assert text(answer, 1) == "m" and one(answer, 4) == 8 and 11 in answer
    tensors = [decode(raw) for raw in answer[5] + answer[6]]
    seen = [(text(t, 1), one(t, 2), numbers(one(t, 4 if t in tensors[:2] else 3, b""))) for t in tensors]
    assert seen == [("old", 13, [1]), ("x", 11, [-1, 2]), ("y", 6, [1])]


def test_a_model_without_the_function_has_nothing_to_say(start):
    assert start("class TritonPythonModel: pass", load=False).describe() is None


def test_a_decoupled_model_says_so(start):
    answer = described(start, "config.set_model_transaction_policy({'decoupled': True}); return config")
    assert one(decode(one(answer, 19)), 1) == 1


@pytest.mark.parametrize(
    "body, text",
    [
        (
            "return 7",
            "auto_complete_config function in model 'm' must return a valid pb.ModelConfig object.",
        ),
        ("raise OSError('no disk')", "OSError: no disk\n\nAt:\n"),
        (
            "config.add_input({'name': 'x', 'data_type': 'FP32', 'dims': [1]}); return config",
            "auto_complete_config function in model 'm' made an invalid configuration: "
            'tensor "x": "FP32" is no data type '
            "such as TYPE_FP32",
        ),
        (
            "config.set_max_batch_size('8'); return config",
            "TypeError: ",
        ),
    ],
)
def test_a_wrong_completion_is_the_reason_why_the_load_fails(start, body, text):
    assert described(start, body).startswith(text)
