"""The Python worker: one process that holds one model instance.

The supervisor starts `python -m nereid_worker` with the user's own interpreter and two inherited sockets. The loop, the
protocol and the tensor memory are in the extension module (`_native`, written in Rust); this package finds the model,
offers it the API that it imports as `triton_python_backend_utils`, and calls it.

Importing the package does nothing: every module here is imported when it is needed, because the time from the start
to a loaded model is mostly import time.
"""
