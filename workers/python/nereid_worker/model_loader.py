"""Imports a model's file the way its author expects.

The module's name is `<version>.<file name>` (`1.model`), the version is a package over the version directory, and
`sys.path` gains the version directory and the model's directory: helper files are importable by their plain name,
relative to the model, and instances of the model's classes can be pickled. Nothing is imported by searching for
the version's name, so a folder `1` elsewhere on the path cannot take its place.
"""

import importlib.machinery
import importlib.util
import os
import sys

from nereid_worker.failures import ModelError

DEFAULT_FILE_NAME = "model.py"
CLASS_NAME = "TritonPythonModel"


def file_name(config):
    """The name of the model's file; `config` is the model configuration as a dict."""
    name = config.get("default_model_filename") or DEFAULT_FILE_NAME
    if not name.endswith(".py"):
        raise ModelError(f"Model name must end with '.py'. Model name is \"{name}\".")
    return name


def load(directory, version_directory, version, name):
    """The imported model module. `version` is a string, `name` the file's name."""
    path = os.path.join(version_directory, name)
    if not os.path.isfile(path):
        raise ModelError(f"Python model file not found in '{path}'")
    for entry in (version_directory, directory):
        if entry not in sys.path:
            sys.path.append(entry)
    _import_package(version, version_directory)
    module_name = f"{version}.{name.removesuffix('.py').replace('/', '.')}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # A second attempt must not find half a module.
        sys.modules.pop(module_name, None)
        raise
    return module


def _import_package(version, version_directory):
    """Makes the version directory a package, so that `from . import helper` and pickled class names work."""
    init = os.path.join(version_directory, "__init__.py")
    if os.path.isfile(init):
        spec = importlib.util.spec_from_file_location(version, init, submodule_search_locations=[version_directory])
    else:
        spec = importlib.machinery.ModuleSpec(version, None, is_package=True)
        spec.submodule_search_locations = [version_directory]
    package = importlib.util.module_from_spec(spec)
    sys.modules[version] = package
    if spec.loader is not None:
        spec.loader.exec_module(package)
