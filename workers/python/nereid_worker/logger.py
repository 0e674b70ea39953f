"""`Logger`: a model's log lines, sent to the server with the place in the model that wrote them."""

import enum
import sys

from nereid_worker import native

_native = native.load()


class LogLevel(enum.Enum):
    """The levels; the values are those of the protocol."""

    VERBOSE = 0
    INFO = 1
    WARNING = 2
    ERROR = 3


class Logger:
    """Static methods only, as models use it: `pb_utils.Logger.log_info("text")`."""

    LogLevel = LogLevel
    INFO = LogLevel.INFO
    WARNING = LogLevel.WARNING
    ERROR = LogLevel.ERROR
    VERBOSE = LogLevel.VERBOSE

    @staticmethod
    def log(message, level=LogLevel.INFO):
        """Logs at the given level."""
        _write(level, message)

    @staticmethod
    def log_info(message):
        """Logs at level INFO."""
        _write(LogLevel.INFO, message)

    @staticmethod
    def log_warn(message):
        """Logs at level WARNING."""
        _write(LogLevel.WARNING, message)

    @staticmethod
    def log_error(message):
        """Logs at level ERROR."""
        _write(LogLevel.ERROR, message)

    @staticmethod
    def log_verbose(message):
        """Logs at level VERBOSE: only seen when the server logs verbosely."""
        _write(LogLevel.VERBOSE, message)


def _write(level, message):
    # Two frames up: the model's line that called the method.
    frame = sys._getframe(2)
    _native.log(LogLevel(level).value, str(message), frame.f_code.co_filename, frame.f_lineno)
