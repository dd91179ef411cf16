"""Layers used by several networks."""

from __future__ import annotations

from itertools import pairwise

from torch import nn


def mlp(n_in: int, width: int, n_out: int, layers: int) -> nn.Sequential:
    """Build a multilayer perceptron with ReLU between its linear layers.

    Args:
        n_in: input features.
        width: units of each hidden layer.
        n_out: output features.
        layers: number of linear layers, at least 1.

    Returns:
        A network from `[..., n_in]` to `[..., n_out]`.
    """
    sizes = [n_in, *[width] * (layers - 1), n_out]
    parts: list[nn.Module] = []
    for a, b in pairwise(sizes):
        parts += [nn.Linear(a, b), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts[:-1])
