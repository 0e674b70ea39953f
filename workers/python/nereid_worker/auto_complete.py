"""`ModelConfig`: what a model's `auto_complete_config` gets, fills in and returns.

It holds the configuration as written by the operator and refuses what contradicts it. It does not check the result:
the supervisor validates the completed configuration like any other.
"""

import json

_TENSOR_PROPERTIES = ("name", "data_type", "dims")
_SCHEDULERS = ("sequence_batching", "ensemble_scheduling")


class ModelConfig:
    """The configuration of the model that is being loaded."""

    def __init__(self, model_config):
        self._model_config = json.loads(model_config)
        # The configuration's JSON may leave out what is empty; models iterate over these.
        self._model_config.setdefault("max_batch_size", 0)
        self._model_config.setdefault("input", [])
        self._model_config.setdefault("output", [])

    def as_dict(self):
        """The configuration as it stands, for reading."""
        return self._model_config

    def set_max_batch_size(self, max_batch_size):
        """Sets max_batch_size; ValueError when the configuration asks for more than the model offers."""
        configured = self._model_config["max_batch_size"]
        if configured > max_batch_size:
            raise ValueError(
                f"configuration specified max_batch_size {configured}, but in auto-complete-config function for "
                f"model '{self._name}' specified max_batch_size {max_batch_size}"
            )
        self._model_config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self):
        """Chooses dynamic batching; ValueError when the configuration has another scheduler."""
        for scheduler in _SCHEDULERS:
            if scheduler in self._model_config:
                raise ValueError(
                    f"Configuration specified scheduling_choice as '{scheduler}', but auto-complete-config function "
                    f"for model '{self._name}' tries to set scheduling_choice as 'dynamic_batching'"
                )
        self._model_config.setdefault("dynamic_batching", {})

    def add_input(self, input):
        """Adds an input: a dict of name, data_type, dims and perhaps optional. ValueError when it contradicts."""
        self._add("input", input, (*_TENSOR_PROPERTIES, "optional"))

    def add_output(self, output):
        """Adds an output: a dict of name, data_type and dims. ValueError when it contradicts."""
        self._add("output", output, _TENSOR_PROPERTIES)

    def set_model_transaction_policy(self, transaction_policy_dict):
        """Sets {"decoupled": bool}; ValueError for another key or when the configuration says otherwise."""
        for key in transaction_policy_dict:
            if key != "decoupled":
                raise ValueError(
                    f"model transaction property in auto-complete-config function for model '{self._name}' contains "
                    "property other than 'decoupled'."
                )
        policy = self._model_config.setdefault("model_transaction_policy", {})
        if "decoupled" not in transaction_policy_dict:
            return
        decoupled = transaction_policy_dict["decoupled"]
        if policy.get("decoupled", decoupled) != decoupled:
            raise ValueError(
                f"trying to change decoupled property in auto-complete-config for model '{self._name}', which is "
                f"already set to '{policy['decoupled']}'."
            )
        policy["decoupled"] = decoupled

    @property
    def _name(self):
        return self._model_config.get("name", "")

    def _add(self, kind, tensor, allowed):
        self._check_properties(kind, tensor, allowed)
        for configured in self._model_config[kind]:
            if configured["name"] == tensor["name"]:
                self._check_agreement(kind, configured, tensor)
                # Lists and names are the model's own objects: keep no hold of them.
                configured.update(tensor, dims=list(tensor["dims"]))
                return
        self._model_config[kind].append(dict(tensor))

    def _check_properties(self, kind, tensor, allowed):
        place = f"in auto-complete-config function for model '{self._name}'"
        label = f"{kind} '{tensor['name']}'" if "name" in tensor else kind
        if any(key not in allowed for key in tensor):
            names = [f"'{name}'" for name in allowed]
            raise ValueError(f"{label} {place} contains property other than {', '.join(names[:-1])} and {names[-1]}.")
        for key in _TENSOR_PROPERTIES:
            if key not in tensor:
                raise ValueError(f"{label} {place} is missing '{key}' property.")

    def _check_agreement(self, kind, configured, tensor):
        name = tensor["name"]
        data_type = configured.get("data_type", "TYPE_INVALID")
        if data_type not in ("TYPE_INVALID", tensor["data_type"]):
            raise ValueError(
                f"unable to load model '{self._name}', configuration expects datatype {data_type} for {kind} "
                f"'{name}', model provides {tensor['data_type']}"
            )
        for key, unset in (("dims", []), ("optional", None)):
            wanted = configured.get(key, unset)
            offered = tensor.get(key, unset)
            if key == "dims":
                wanted, offered = _numbers(wanted), list(offered)
            if wanted != unset and offered is not None and wanted != offered:
                raise ValueError(
                    f"model '{self._name}', tensor '{name}': the model expects {key} {offered} but the model "
                    f"configuration specifies {key} {wanted}"
                )


def _numbers(dims):
    # 64-bit integers are strings in protobuf's JSON form.
    return [int(dim) for dim in dims]
