"""Networks with weights drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from ovplace.learning.allocator import keep_freed_memory

N = TypeVar("N", bound=nn.Module)


def seeded(build: Callable[[], N], seed: int) -> N:
    """Build a network in evaluation mode with reproducible weights; torch's global random state is left unchanged.

    Args:
        build: constructs the network, drawing weights from torch's global generator.
        seed: seed of that generator while `build` runs.

    Returns:
        The network.
    """
    keep_freed_memory()  # here because every network is built by this function
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build()
    network.eval()
    return network
