"""A thread that calls functions one after another, and whose death is noticed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")

LOOK_S = 1.0
"""Seconds between two looks whether the thread is still there, while waiting for its answer."""


class OwnThread:
    """Calls functions one after another.

    A thread of `concurrent.futures` that runs out of memory while it passes an error on ends without a word to the one
    who waits for it. Here that one gets a `MemoryError`.
    """

    def __init__(self) -> None:
        """Start no thread yet: the first call does."""
        self._executor = ThreadPoolExecutor(max_workers=1, initializer=self._note)
        self._thread: threading.Thread | None = None

    @property
    def is_dead(self) -> bool:
        """Whether the thread has ended of itself, so that no call is answered any more."""
        return self._thread is not None and not self._thread.is_alive()

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns, when its turn has come.

        Args:
            function: the function.
            *arguments: its arguments.

        Raises:
            MemoryError: the thread has ended.
        """
        asked = self.submit(function, *arguments)
        while not wait([asked], LOOK_S).done:
            if self.is_dead and not asked.done():
                raise MemoryError("a thread ended without an answer")
        return asked.result()

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Have a function called when its turn has come, and wait for nothing.

        Args:
            function: the function.
            *arguments: its arguments.
        """
        return self._executor.submit(function, *arguments)

    def close(self) -> None:
        """Wait for the calls, and end the thread."""
        self._executor.shutdown()

    def _note(self) -> None:
        self._thread = threading.current_thread()
