"""Matrix products on one thread.

NumPy and SciPy have an OpenBLAS each, with threads of its own. On two processors these disturb one another, and fits of
costs take several times as long as on one thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which NumPy and SciPy use one thread for matrix products."""
    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
