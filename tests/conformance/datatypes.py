"""The data types of the protocol, and an array of each that holds its extremes."""

import ml_dtypes
import numpy as np

NUMERIC = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
}
NAMES = [*NUMERIC, "BYTES", "BF16"]
# Types that have no JSON form in the protocol.
BINARY_ONLY = {"FP16", "BF16"}


def config_name(name):
    return "TYPE_STRING" if name == "BYTES" else f"TYPE_{name}"


def sample(name):
    """A [2, 3] array of this type."""
    if name == "BYTES":
        return np.array([[b"one", b"", b"\x00\xff"], ["zwölf".encode(), b" ", b"x" * 1000]], dtype=np.object_)
    if name == "BF16":
        return np.array([[0, 1, -2], [0.1, -3.0, np.inf]], dtype=ml_dtypes.bfloat16)
    dtype = NUMERIC[name]
    if name == "BOOL":
        return np.array([[True, False, True], [False, False, True]])
    info = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else np.finfo(dtype)
    values = [[info.min, 0, 1], [info.max, 2, 3]]
    if name.startswith("FP"):
        values = [[info.min, -0.0, info.tiny], [info.max, 0.1, -1.5]]
    return np.array(values, dtype=dtype)
