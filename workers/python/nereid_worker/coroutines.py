"""Runs the coroutines of models whose methods are `async`.

One event loop lives as long as the worker, in a thread of its own: tasks and connections that a model opens in one
call go on living between calls and can be used in the next. asyncio is imported with the first coroutine only.
"""

from collections.abc import Coroutine


class Coroutines:
    """The event loop, started by the first coroutine."""

    def __init__(self):
        self._loop = None
        self._thread = None

    @staticmethod
    def needed(result):
        """Whether a call returned something that has to be awaited."""
        return isinstance(result, Coroutine)

    def start(self, coroutine):
        """Starts the coroutine; returns a future of its result, for other threads than the loop's."""
        import asyncio

        return asyncio.run_coroutine_threadsafe(coroutine, self._started())

    def _started(self):
        if self._loop is None:
            import asyncio
            import threading

            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._serve, name="nereid-coroutines", daemon=True)
            self._thread.start()
        return self._loop

    def _serve(self):
        import asyncio

        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def stop(self, limit_s=1.0):
        """Ends the loop; what still runs in it after the limit dies with the process."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(limit_s)
            self._loop = None
