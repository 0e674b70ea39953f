"""`MetricFamily` and `Metric`: a model's own metrics.

The values live in the worker and can be read back there; the server does not export them yet. A model that keeps
metrics works, and the log says once that nobody else sees them. The rules are those of the server: what it would
refuse is refused here.
"""

import bisect
import enum
import json
import math
import threading

from nereid_worker import native

_native = native.load()
_said = False


class MetricKind(enum.Enum):
    """The kinds of metric."""

    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2


class MetricFamily:
    """Metrics of one name; each set of labels is a metric of its own."""

    COUNTER = MetricKind.COUNTER
    GAUGE = MetricKind.GAUGE
    HISTOGRAM = MetricKind.HISTOGRAM

    def __init__(self, name, description, kind):
        if not isinstance(kind, MetricKind):
            raise _native.TritonModelException("Unknown metric kind")
        if not name:
            raise _native.TritonModelException("Error when creating MetricFamily: the name is empty")
        self._name = str(name)
        self._description = str(description)
        self._kind = kind
        self._metrics = {}
        _say_once(self._name)

    def Metric(self, labels=None, buckets=None):
        """The metric of these labels. A histogram needs its ascending bucket bounds."""
        if labels is not None and not isinstance(labels, dict):
            raise _native.TritonModelException("Failed to create metric. Labels must be a dictionary.")
        if buckets is not None:
            if not isinstance(buckets, list):
                raise _native.TritonModelException("Failed to create metric. Buckets must be a list.")
            if self._kind is not MetricKind.HISTOGRAM:
                raise _native.TritonModelException("Failed to create metric. Unexpected buckets found.")
            if any(low >= high for low, high in zip(buckets, buckets[1:])):
                raise _native.TritonModelException(
                    f"Failed to create metric. Buckets must be ascending, found {buckets}."
                )
        elif self._kind is MetricKind.HISTOGRAM:
            raise _native.TritonModelException("Failed to create metric. Missing required buckets.")
        key = json.dumps(labels, sort_keys=True)
        return self._metrics.setdefault(key, Metric(self._kind, buckets))


class Metric:
    """One value, made by `MetricFamily.Metric`. Safe to use from several threads."""

    def __init__(self, kind, buckets):
        self._kind = kind
        self._value = 0.0
        self._bounds = [*map(float, buckets), math.inf] if buckets is not None else None
        self._counts = [0] * len(self._bounds) if buckets is not None else None
        self._lock = threading.Lock()

    def increment(self, value):
        """Adds to a counter (not less than 0) or a gauge."""
        self._only("increment", MetricKind.COUNTER, MetricKind.GAUGE)
        if self._kind is MetricKind.COUNTER and value < 0:
            raise _native.TritonModelException(
                f"Failed to increment metric value: a counter cannot be decreased, found {value}"
            )
        with self._lock:
            self._value += value

    def set(self, value):
        """Sets a gauge."""
        self._only("set", MetricKind.GAUGE)
        with self._lock:
            self._value = float(value)

    def observe(self, value):
        """Adds an observation to a histogram."""
        self._only("observe", MetricKind.HISTOGRAM)
        with self._lock:
            self._counts[bisect.bisect_left(self._bounds, value)] += 1
            self._value += value

    def value(self):
        """The value of a counter or gauge."""
        self._only("get", MetricKind.COUNTER, MetricKind.GAUGE)
        return self._value

    def _only(self, operation, *kinds):
        if self._kind not in kinds:
            raise _native.TritonModelException(
                f"Failed to {operation} metric value: a metric of kind {self._kind.name} does not support this"
            )


def _say_once(name):
    global _said
    if not _said:
        _said = True
        _native.log(
            2,
            f"custom metric '{name}': values of a model's own metrics stay in its worker, the metrics endpoint does "
            "not show them yet",
            __file__,
            0,
        )
