"""Memory allocator setting: glibc keeps freed memory, since a network allocates the same tensors at each step."""

from __future__ import annotations

import ctypes
from functools import cache

_MIB = 2**20
_OPTIONS = {-3: 32 * _MIB, -1: 256 * _MIB, -2: 64 * _MIB}
"""Values of glibc's M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_TOP_PAD (malloc.h).

Allocations below 32 MiB come from the heap, the heap keeps up to 256 MiB of free memory at its end, and it grows by
64 MiB more than needed.
"""


@cache
def keep_freed_memory() -> None:
    """Let glibc keep up to 256 MiB of freed memory, once a process; other C libraries are left unchanged.

    By default glibc returns freed tensors of some megabytes to the kernel, which then maps their pages again one by
    one: up to 65,000 page faults in an episode of HSDAG on BERT, a tenth of its time.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # TypeError: Windows has no library of the process itself
        return
    for option, size in _OPTIONS.items():
        mallopt(option, size)
