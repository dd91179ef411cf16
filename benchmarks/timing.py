"""Loops that time something, and processes of its own for what is measured by peak memory."""

from __future__ import annotations

import importlib
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from statistics import median


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_s(work: Callable[[], object], repeats: int) -> float:
    """Return the median wall time of some calls, in seconds.

    Args:
        work: what is timed.
        repeats: number of calls.
    """
    return median(seconds(work) for _ in range(repeats))


def best_ms(work: Callable[[], object], repeats: int) -> float:
    """Return the shortest wall time of some calls after one to warm up, in ms: others may share the machine.

    Args:
        work: what is timed.
        repeats: number of calls that count.
    """
    work()
    return 1e3 * min(seconds(work) for _ in range(repeats))


def in_new_process(module: str, function: str, *arguments: object) -> dict[str, object]:
    """Return the row that a function returns in a fresh process, with its peak memory in MiB as `memory_mib`.

    Args:
        module: where the function is.
        function: its name; it returns a row of values.
        arguments: its arguments.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(_row_with_memory, module, function, arguments).result()


def memory_mib() -> int:
    """Return the peak memory of this process in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _row_with_memory(module: str, function: str, arguments: tuple[object, ...]) -> dict[str, object]:
    row: dict[str, object] = getattr(importlib.import_module(module), function)(*arguments)
    return {**row, "memory_mib": memory_mib()}
