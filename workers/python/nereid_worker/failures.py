"""Turns a model's exception into the text that a client or operator reads.

The form is Triton's: the exception's class and text, then where it happened, innermost call first. Frames of this
package are left out: they say nothing about the model.
"""

import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
MAX_FRAMES = 64
MAX_TEXT = 16 * 1024


class ModelError(Exception):
    """A model broke a rule of the API. Its text alone is the message: there is no place in the model to point at."""


def describe(exception, traceback=None):
    """`ValueError: text`, a blank line, `At:` and one line `  file(line): function` per call."""
    try:
        text = str(exception)
    except Exception as error:  # A broken __str__ must not hide that there was a failure.
        text = f"<the exception's text cannot be told: {type(error).__name__}>"
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + f"... ({len(text) - MAX_TEXT} more characters)"
    if isinstance(exception, ModelError):
        return text
    lines = [f"{type(exception).__name__}: {text}"]
    frames = []
    traceback = traceback or exception.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            frames.append(f"  {code.co_filename}({traceback.tb_lineno}): {code.co_name}")
        traceback = traceback.tb_next
    if frames:
        lines += ["", "At:"]
        if len(frames) > MAX_FRAMES:
            lines += frames[: -MAX_FRAMES // 2 - 1 : -1]
            lines.append(f"  ... {len(frames) - MAX_FRAMES} calls left out ...")
            frames = frames[: MAX_FRAMES // 2]
        lines += reversed(frames)
        lines.append("")
    return "\n".join(lines)
