"""Finds and loads the extension module `nereid_worker._native`.

There are two places: the file that the environment variable names (a build folder), or `_native.abi3.so` in this
package (an installation). The variable wins. Nothing is searched for elsewhere: a stale copy that is picked up by
accident is harder to find than a missing one.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

MODULE = "nereid_worker._native"
VARIABLE = "NEREID_PYTHON_EXTENSION"
FILE_NAME = "_native.abi3.so"


def load():
    """The extension module; ImportError with what to do when there is none or it does not fit this interpreter."""
    loaded = sys.modules.get(MODULE)
    if loaded is not None:
        return loaded
    path = os.environ.get(VARIABLE) or os.path.join(os.path.dirname(os.path.abspath(__file__)), FILE_NAME)
    if not os.path.isfile(path):
        raise ImportError(
            f"the worker's extension module is missing: {path} does not exist; build it with "
            f"`cargo build -p nereid-python` and either set {VARIABLE} to the libnereid_python.so that was built, "
            f"or copy it to nereid_worker/{FILE_NAME}"
        )
    if sys.version_info < (3, 11):
        raise ImportError(
            f"{sys.executable} is Python {sys.version_info[0]}.{sys.version_info[1]}; "
            "the worker needs CPython 3.11 or newer"
        )
    loader = importlib.machinery.ExtensionFileLoader(MODULE, path)
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[MODULE]
        raise
    # `from nereid_worker import _native` looks at the package's attribute.
    setattr(sys.modules["nereid_worker"], "_native", module)
    return module
