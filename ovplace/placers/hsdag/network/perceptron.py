"""Multilayer perceptron in the forms of HSDAG's published network.

Source: Song et al., "Graph Parsing Networks", arXiv 2402.14393, whose layers HSDAG's published code reuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from torch import nn

from ovplace.placers.hsdag.network.dropout import Dropout


@dataclass(frozen=True)
class Activation:
    """The layers that follow a linear layer.

    Attributes:
        norm: layer normalisation before the ReLU.
        dropout: probability of dropout after the ReLU; 0 for none.
        final: the last layer has an activation as well, as `activation_final` in HSDAG's Table 6.
    """

    norm: bool = False
    dropout: float = 0.0
    final: bool = False

    def layers(self, width: int) -> list[nn.Module]:
        """Return its layers for `width` numbers."""
        norm: list[nn.Module] = [nn.LayerNorm(width)] if self.norm else []
        dropout: list[nn.Module] = [Dropout(self.dropout)] if self.dropout else []
        return [*norm, nn.ReLU(inplace=True), *dropout]


def perceptron(n_in: int, width: int, n_out: int, layers: int, activation: Activation) -> nn.Sequential:
    """Build a multilayer perceptron.

    Args:
        n_in: input features.
        width: units of each hidden layer.
        n_out: output features.
        layers: number of linear layers; 0 for none, which returns its input.
        activation: what follows a linear layer.

    Returns:
        A network from `[..., n_in]` to `[..., n_out]`.
    """
    sizes = [n_in, *[width] * (layers - 1), n_out] if layers else []
    parts: list[nn.Module] = []
    for number, (a, b) in enumerate(pairwise(sizes), start=1):
        parts.append(nn.Linear(a, b))
        if number < layers or activation.final:
            parts += activation.layers(b)
    return nn.Sequential(*parts)
