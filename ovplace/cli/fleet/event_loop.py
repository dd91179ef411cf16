"""The event loop of the scheduler and of a worker, which a signal ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from ovplace.cli.stopping import Stopped, stopping_by_signals


def run_until_stopped(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine until it ends, or the first signal cancels it.

    An exception raised by the signal handler itself could lose a callback that the loop has just taken from its queue;
    a task that waits for it would never end, and the process would hang.

    Args:
        main: the coroutine.

    Raises:
        Stopped: a signal came.
    """
    received: list[int] = []
    runner = asyncio.Runner()
    loop = runner.get_loop()
    task = loop.create_task(main)

    def cancel(number: int) -> None:
        received.append(number)
        loop.call_soon_threadsafe(task.cancel)

    with stopping_by_signals(cancel), runner:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise Stopped(received[0]) from None
