"""What a model imports as `triton_python_backend_utils`."""

import enum

from nereid_worker import native
from nereid_worker.auto_complete import ModelConfig
from nereid_worker.calls import ResponseIterator, is_model_ready, load_model, unload_model
from nereid_worker.helpers import (
    TRITON_STRING_TO_NUMPY,
    deserialize_bytes_tensor,
    get_input_config_by_name,
    get_input_tensor_by_name,
    get_model_dir,
    get_output_config_by_name,
    get_output_tensor_by_name,
    numpy_to_triton_type,
    serialize_byte_tensor,
    triton_string_to_numpy,
    triton_to_numpy_type,
    using_decoupled_model_transaction_policy,
)
from nereid_worker.logger import Logger
from nereid_worker.metrics import Metric, MetricFamily, MetricKind

_native = native.load()

Tensor = _native.Tensor
InferenceRequest = _native.InferenceRequest
InferenceResponse = _native.InferenceResponse
InferenceResponseSender = _native.InferenceResponseSender
InferenceTrace = _native.InferenceTrace
TritonError = _native.TritonError
TritonModelException = _native.TritonModelException
PreferredMemory = _native.PreferredMemory


class MemoryType(enum.IntEnum):
    """Where a tensor should live."""

    TRITONSERVER_MEMORY_CPU = 0
    TRITONSERVER_MEMORY_GPU = 1


TRITONSERVER_MEMORY_CPU = MemoryType.TRITONSERVER_MEMORY_CPU
TRITONSERVER_MEMORY_GPU = MemoryType.TRITONSERVER_MEMORY_GPU

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2

__all__ = [name for name in dir() if not name.startswith("_") and name not in ("enum", "native")]
