"""What a model may ask of the server: load, unload and probe other models, iterate over streamed responses.

The protocol between worker and server carries none of this yet. The names exist so that a model which merely mentions
them loads; calling them fails with the exception that models already handle.
"""

from nereid_worker import native

_TritonModelException = native.load().TritonModelException


def load_model(model_name, config="", files=None):
    """Not available yet."""
    raise _TritonModelException(
        f"Failed to load model: '{model_name}' cannot be loaded from inside a model: this server does not offer model "
        "control to Python models yet"
    )


def unload_model(model_name, unload_dependents=False):
    """Not available yet."""
    raise _TritonModelException(
        f"Failed to unload model: '{model_name}' cannot be unloaded from inside a model: this server does not offer "
        "model control to Python models yet"
    )


def is_model_ready(model_name, model_version=""):
    """Not available yet."""
    raise _TritonModelException(
        f"Failed to check model readiness: '{model_name}' cannot be asked about from inside a model: this server does "
        "not offer model control to Python models yet"
    )


class ResponseIterator:
    """The responses of a streamed call. None can be made yet: `InferenceRequest.exec` is not available."""

    def __init__(self):
        raise _TritonModelException("a ResponseIterator is only made by InferenceRequest.exec(decoupled=True)")

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration

    def cancel(self):
        """Nothing to cancel."""
