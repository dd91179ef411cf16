"""Matrix products on one thread.

Processes at the same time share the processors, and what they compute must not depend on how many there are. Within a
process, NumPy and SciPy have an OpenBLAS each, with threads of its own. On two processors these disturb one another,
and fits of costs take several times as long as on one thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits

ENVIRONMENT: Mapping[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment of a process that is to use one thread; libraries read it when they are imported."""


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which NumPy and SciPy use one thread for matrix products."""
    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
