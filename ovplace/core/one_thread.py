"""Matrix products on one thread.

Processes at the same time share the processors, and what they compute must not depend on how many there are. Within a
process, NumPy and SciPy have an OpenBLAS each, with threads of its own. On two processors these disturb one another,
and fits of costs take several times as long as on one thread.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module

from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_limits

ENVIRONMENT: Mapping[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment of a process that is to use one thread; libraries read it when they are imported."""


_ELSE_LATER = "scipy.linalg"
"""Brings SciPy's OpenBLAS, which would compute on all processors if it were only loaded within a block: on two that
were busy, a proposal of `min_cut` took 1.6 s in place of 0.07 s.
"""


class _SharedPools:
    """Pools that all threads of the process compute in, as OpenBLAS has one: the last block to end lifts the limits."""

    def __init__(self) -> None:
        self._lock, self._limits, self._blocks = threading.Lock(), ExitStack(), 0
        if sys.platform != "win32":  # a process that is forked must not inherit the lock of a thread that it lacks
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._lock.release
            )

    def limit(self) -> None:
        with self._lock:
            _let_any_thread_set_limits()
            import_module(_ELSE_LATER)
            pools = ThreadpoolController().select(threading_layer="pthreads")  # some may be new since the last block
            self._limits.callback(pools.limit(limits=1).restore_original_limits)
            self._blocks += 1

    def lift(self) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                _let_any_thread_set_limits()
                self._limits.close()
                _let_any_thread_set_limits()


def _let_any_thread_set_limits() -> None:
    """Lift a rule of threadpoolctl 3.8: once a thread has set limits of shared pools, others that do are ignored."""
    if release := getattr(OpenBLASController, "clear_controlling_thread", None):
        release(force=True)


_shared_pools = _SharedPools()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let NumPy and SciPy use one thread for matrix products while a block runs; blocks in threads may overlap."""
    _shared_pools.limit()
    try:
        with threadpool_limits(1, user_api="blas"):  # libraries such as MKL have a limit for each thread
            yield
    finally:
        _shared_pools.lift()
