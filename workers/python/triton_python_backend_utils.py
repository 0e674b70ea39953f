"""The module that Triton's Python models import: `import triton_python_backend_utils as pb_utils`.

In a worker the name is bound before the model is imported. This file is for everything else: editors, type checkers,
a model's unit tests, and the children that a model starts with multiprocessing.
"""

from nereid_worker.api import *  # noqa: F401,F403
