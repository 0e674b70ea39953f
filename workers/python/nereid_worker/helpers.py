"""The plain functions of `triton_python_backend_utils`: data types, BYTES tensors, look-ups by name."""

import struct

import numpy as np

# Triton's numbers for data types. BF16 (14) has no numpy type.
_NUMPY_OF_NUMBER = {
    1: np.bool_,
    2: np.uint8,
    3: np.uint16,
    4: np.uint32,
    5: np.uint64,
    6: np.int8,
    7: np.int16,
    8: np.int32,
    9: np.int64,
    10: np.float16,
    11: np.float32,
    12: np.float64,
    13: np.object_,
}
_NUMBER_OF_NUMPY = {np.dtype(kind): number for number, kind in _NUMPY_OF_NUMBER.items()}

TRITON_STRING_TO_NUMPY = {
    "TYPE_BOOL": bool,
    "TYPE_UINT8": np.uint8,
    "TYPE_UINT16": np.uint16,
    "TYPE_UINT32": np.uint32,
    "TYPE_UINT64": np.uint64,
    "TYPE_INT8": np.int8,
    "TYPE_INT16": np.int16,
    "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64,
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
    "TYPE_FP64": np.float64,
    "TYPE_STRING": np.object_,
}

_model_dir = None


def set_model_dir(path):
    """For the worker itself: what `get_model_dir` tells from now on."""
    global _model_dir
    _model_dir = path


def get_model_dir():
    """The model's directory."""
    return _model_dir


def get_input_tensor_by_name(inference_request, name):
    """The request's input tensor of that name, or None."""
    return _by_name(inference_request.inputs(), name)


def get_output_tensor_by_name(inference_response, name):
    """The response's output tensor of that name, or None."""
    return _by_name(inference_response.output_tensors(), name)


def _by_name(tensors, name):
    for tensor in tensors:
        if tensor.name() == name:
            return tensor
    return None


def get_input_config_by_name(model_config, name):
    """The properties of an input in the model configuration (a dict), or None."""
    return _properties(model_config, "input", name)


def get_output_config_by_name(model_config, name):
    """The properties of an output in the model configuration (a dict), or None."""
    return _properties(model_config, "output", name)


def _properties(model_config, kind, name):
    for properties in model_config.get(kind, ()):
        if properties["name"] == name:
            return properties
    return None


def using_decoupled_model_transaction_policy(model_config):
    """Whether the model configuration (a dict) says that the model is decoupled."""
    return model_config.get("model_transaction_policy", {}).get("decoupled", False)


def triton_to_numpy_type(data_type):
    """numpy's type for Triton's number of a data type; None where numpy has none (BF16)."""
    return _NUMPY_OF_NUMBER.get(data_type)


def numpy_to_triton_type(data_type):
    """Triton's number for a numpy type; None where Triton has none."""
    kind = np.dtype(data_type)
    return 13 if kind.kind == "S" else _NUMBER_OF_NUMPY.get(kind)


def triton_string_to_numpy(triton_type_string):
    """numpy's type for a configuration's data type such as "TYPE_FP32"; KeyError where numpy has none."""
    return TRITON_STRING_TO_NUMPY[triton_type_string]


def serialize_byte_tensor(input_tensor):
    """The wire form of an array of strings: each element in C order, after its length in four bytes.

    An empty array gives an empty tuple and an array of something else None, as models know it."""
    if input_tensor.size == 0:
        return ()
    if input_tensor.dtype.kind not in "OS":
        return None
    parts = []
    for element in input_tensor.ravel(order="C").tolist():
        data = element if type(element) is bytes else str(element).encode("utf-8")
        parts.append(struct.pack("<I", len(data)))
        parts.append(data)
    return b"".join(parts)


def deserialize_bytes_tensor(encoded_tensor):
    """The elements in such bytes as a one-dimensional array of `bytes` objects."""
    elements = []
    offset = 0
    while offset < len(encoded_tensor):
        (length,) = struct.unpack_from("<I", encoded_tensor, offset)
        offset += 4
        elements.append(struct.unpack_from(f"<{length}s", encoded_tensor, offset)[0])
        offset += length
    array = np.empty(len(elements), dtype=np.object_)
    array[:] = elements
    return array
