"""Weights: new ones from a seed, and those of a policy and its optimiser as text."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import nn

from ovplace.learning.memory import keep_freed

M = TypeVar("M", bound=nn.Module)


def seeded(build: Callable[[], M], seed: int) -> M:
    """Return a new network, ready to draw, with weights of its own random stream; torch's global one is left alone."""
    keep_freed()  # here, as every network comes this way
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build()
    network.eval()
    return network


def dump(network: nn.Module, optimiser: torch.optim.Optimizer) -> str:
    """Return weights and the optimiser's memory as text."""
    buffer = io.BytesIO()
    torch.save({"policy": network.state_dict(), "optimiser": optimiser.state_dict()}, buffer)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def restore(text: str, network: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Take over what `dump` returned."""
    data: Any = torch.load(io.BytesIO(base64.b64decode(text)), weights_only=True)
    network.load_state_dict(data["policy"])
    optimiser.load_state_dict(data["optimiser"])
