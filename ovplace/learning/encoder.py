"""Encoders: from node features to node embeddings that know their neighbourhood."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from ovplace.learning.dropout import Dropout
from ovplace.learning.neighbours import Neighbours


class _Dag(nn.Module):
    """Messages along the edges and against them, each with weights of its own; the others take the graph as undirected.

    Source of the idea: Thost and Chen, "Directed acyclic graph neural networks", ICLR 2021 (direction); Placeto,
    NeurIPS 2019, section 3.2 (both directions).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.forward_messages = SAGEConv(width, width)
        self.backward_messages = SAGEConv(width, width, root_weight=False)

    def forward(self, h: Tensor, graph: Neighbours) -> Tensor:
        edges = graph.directed
        found: Tensor = self.forward_messages(h, edges) + self.backward_messages(h, edges.flip(0))
        return found


class _Undirected(nn.Module):
    """A convolution over each edge in both directions."""

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, h: Tensor, graph: Neighbours) -> Tensor:
        found: Tensor = self.conv(h, graph.both_ways)
        return found


class _Product(torch.autograd.Function):
    """A symmetric sparse matrix times a dense one; torch's own gradient would transpose the matrix each time."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, h: Tensor) -> Tensor:
        ctx.matrix = matrix
        return _times(matrix, h)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        return None, _times(ctx.matrix, gradients[0])


def _times(matrix: Tensor, h: Tensor) -> Tensor:
    """Return the product of a sparse matrix and `h`, written once: `torch.sparse.mm` fills and copies besides."""
    out = torch.empty_like(h)
    return torch.addmm(out, matrix, h, beta=0, out=out)


class _SymmetricGcn(GCNConv):  # type: ignore[misc]  # torch_geometric has no types
    """GCN on a normalised symmetric matrix."""

    def message_and_aggregate(self, adj_t: Tensor, x: Tensor) -> Tensor:
        found: Tensor = _Product.apply(adj_t, x)  # type: ignore[no-untyped-call]
        return found


class _Gcn(nn.Module):
    """A convolution over each edge in both directions, with a matrix that is normalised once for all layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = _SymmetricGcn(width, width, normalize=False)

    def forward(self, h: Tensor, graph: Neighbours) -> Tensor:
        found: Tensor = self.conv(h, graph.normalised.to(h.dtype))
        return found


def _gin(width: int) -> nn.Module:
    conv: nn.Module = GINConv(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)))
    return conv


CONVOLUTIONS: dict[str, Callable[[int], nn.Module]] = {
    "gcn": _Gcn,
    "gat": lambda width: _Undirected(GATConv(width, width)),
    "gin": lambda width: _Undirected(_gin(width)),
    "sage": lambda width: _Undirected(SAGEConv(width, width)),
    "dag": _Dag,
}
"""GCN: Kipf and Welling 2017, HSDAG's choice; GAT: Velickovic et al. 2018; GIN: Xu et al. 2019; SAGE: Hamilton et al.
2017; dag: both directions apart. All but the last see no direction."""


def mlp(n_in: int, width: int, n_out: int, layers: int) -> nn.Sequential:
    """Return `layers` linear layers with ReLU between them."""
    sizes = [n_in, *[width] * (layers - 1), n_out]
    parts: list[nn.Module] = []
    for a, b in pairwise(sizes):
        parts += [nn.Linear(a, b), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts[:-1])


@contextmanager
def _no_files_left() -> Iterator[None]:
    """Remove what torch_geometric writes: a file for each kind of convolution, left behind by each process."""
    usual = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = usual


class GraphLayers(nn.Module):
    """Convolutions, each with ReLU and dropout; then a residual connection and layer norm.

    Source: Graph Parsing Networks, arXiv 2402.14393, appendix: the GNN block; HSDAG, equation 6 is one layer of `gcn`.
    """

    def __init__(self, kind: str, width: int, layers: int, dropout: float) -> None:
        """Build `layers` convolutions of a kind, a key of `CONVOLUTIONS`."""
        super().__init__()
        with _no_files_left():
            self.layers = nn.ModuleList(CONVOLUTIONS[kind](width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, h: Tensor, graph: Neighbours) -> Tensor:
        """Return embeddings `[N, H]` from `h` `[N, H]`."""
        out = h
        for layer in self.layers:
            out = self.dropout(torch.relu_(layer(out, graph)))
        found: Tensor = self.norm(h + out)
        return found
