"""Matrix products on one thread.

NumPy and SciPy have an OpenBLAS each, with threads of its own. On two processors these disturb one another: fitting the
costs of the demo to forty random placements, one after the other, took 10 s, and 2.4 s on one thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which NumPy and SciPy use one thread for matrix products."""
    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
