"""Torch on one thread: what is learned must not depend on how many processors there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ovplace.core.one_thread import one_thread


@contextmanager
def one_thread_of_torch() -> Iterator[None]:
    """Let torch, NumPy and SciPy use one thread while a block runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_thread():
            yield
    finally:
        torch.set_num_threads(before)
