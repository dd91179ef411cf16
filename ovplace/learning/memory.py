"""Freed memory stays with the process: a network makes and frees the same tensors at each step."""

from __future__ import annotations

import ctypes
from functools import cache

_MIB = 2**20
_OPTIONS = {-3: 32 * _MIB, -1: 256 * _MIB, -2: 64 * _MIB}
"""glibc's M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_TOP_PAD (malloc.h): what is smaller comes from the heap; at its end,
that much is kept though it is free; and it grows by that much more than is needed."""


@cache
def keep_freed() -> None:
    """Let glibc keep up to 256 MiB of freed memory, once a process; other C libraries are left as they are.

    By default it returns tensors of some megabytes when they are freed, and the kernel hands out their pages anew, one
    by one: up to 65,000 page faults in an episode of HSDAG on BERT, a tenth of its time.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # TypeError: Windows has no library of the process itself
        return
    for option, size in _OPTIONS.items():
        mallopt(option, size)
