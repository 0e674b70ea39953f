"""The life of one model instance, as the extension module drives it.

The extension calls `describe` (perhaps), `load`, then the model's own `execute` over and over, `is_ready` in between,
and `unload`. Exceptions leave these methods as they are; the extension turns them into answers with `failures`.
"""

import json

from nereid_worker import failures, model_loader
from nereid_worker.coroutines import Coroutines
from nereid_worker.failures import ModelError


class Host:
    """What the extension module calls."""

    def __init__(self):
        self._module = None
        self._model = None
        self._coroutines = Coroutines()

    # The text of an exception, for the extension.
    describe_exception = staticmethod(failures.describe)

    def describe(self, context):
        """The configuration as completed by the model, as JSON; None when the model does not take part.

        `context` is a dict: directory, version_directory, version, model_name, instance_name, kind, device_id,
        config_json, all str."""
        from nereid_worker import auto_complete

        model_class = self._model_class(context)
        if not hasattr(model_class, "auto_complete_config"):
            return None
        completed = model_class.auto_complete_config(auto_complete.ModelConfig(context["config_json"]))
        if not isinstance(completed, auto_complete.ModelConfig):
            raise ModelError(
                f"auto_complete_config function in model '{context['model_name']}' must return a valid "
                "pb.ModelConfig object."
            )
        return json.dumps(completed.as_dict(), default=_plain_number)

    def load(self, context):
        """Makes and initialises the model. Returns its bound `execute`, or None when it has none."""
        model_class = self._model_class(context)
        self._model = model_class()
        if hasattr(self._model, "initialize"):
            self._model.initialize(
                {
                    "model_config": context["config_json"],
                    "model_instance_kind": context["kind"],
                    "model_instance_device_id": context["device_id"],
                    "model_instance_name": context["instance_name"],
                    "model_repository": context["directory"],
                    "model_version": context["version"],
                    "model_name": context["model_name"],
                }
            )
        return getattr(self._model, "execute", None)

    def is_ready(self):
        """What the model's own check says; True when it has none."""
        check = getattr(self._model, "is_ready", None)
        if check is None:
            return True
        ready = check()
        if Coroutines.needed(ready):
            ready = self._coroutines.start(ready).result()
        if not isinstance(ready, bool):
            raise ModelError("is_ready() must return a boolean value")
        return ready

    def start(self, result):
        """For what `execute` returned when that is neither a list nor None: a coroutine is started, and its future
        returned. None for anything else."""
        return self._coroutines.start(result) if Coroutines.needed(result) else None

    def unload(self):
        """The model's finalize, then the end of its event loop."""
        model, self._model = self._model, None
        try:
            if hasattr(model, "finalize"):
                model.finalize()
        finally:
            self._coroutines.stop()

    def model_path(self, context):
        """Where the model's file lies, for error texts."""
        return f"{context['version_directory']}/{model_loader.file_name(json.loads(context['config_json']))}"

    def _model_class(self, context):
        if self._module is None:
            from nereid_worker import helpers

            helpers.set_model_dir(context["directory"])
            self._module = model_loader.load(
                context["directory"],
                context["version_directory"],
                context["version"],
                model_loader.file_name(json.loads(context["config_json"])),
            )
        return getattr(self._module, model_loader.CLASS_NAME)


def _plain_number(value):
    """Numbers of numpy in a configuration are numbers all the same."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a model configuration cannot hold a {type(value).__name__}")
