"""Graph encoder: node embeddings from the embeddings of the neighbourhood.

Source: HSDAG, arXiv 2405.14185, equation 6; the other convolutions and the surrounding block are named where they are
defined.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from ovplace.placers.hsdag.network.adjacency import Adjacency
from ovplace.placers.hsdag.network.dropout import Dropout


class _Dag(nn.Module):
    """Messages along the edges and against them with separate weights; the other convolutions ignore the direction.

    Source of the idea: Thost and Chen, "Directed acyclic graph neural networks", ICLR 2021 (direction); Placeto,
    NeurIPS 2019, section 3.2 (both directions).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.forward_messages = SAGEConv(width, width)
        self.backward_messages = SAGEConv(width, width, root_weight=False)

    def forward(self, h: Tensor, graph: Adjacency) -> Tensor:
        edges = graph.directed
        found: Tensor = self.forward_messages(h, edges) + self.backward_messages(h, edges.flip(0))
        return found


class _Undirected(nn.Module):
    """A convolution on the undirected graph."""

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, h: Tensor, graph: Adjacency) -> Tensor:
        found: Tensor = self.conv(h, graph.bidirectional)
        return found


class _Product(torch.autograd.Function):
    """Product of a symmetric sparse and a dense matrix; torch's own gradient would transpose the matrix each time."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, h: Tensor) -> Tensor:
        ctx.matrix = matrix
        return _times(matrix, h)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        return None, _times(ctx.matrix, gradients[0])


def _times(matrix: Tensor, h: Tensor) -> Tensor:
    """Return the product of a sparse matrix and `h` without the extra fill and copy of `torch.sparse.mm`."""
    out = torch.empty_like(h)
    return torch.addmm(out, matrix, h, beta=0, out=out)


class _SymmetricGcn(GCNConv):  # type: ignore[misc]  # torch_geometric has no types
    """GCN on a normalised symmetric matrix."""

    def message_and_aggregate(self, adj_t: Tensor, x: Tensor) -> Tensor:
        found: Tensor = _Product.apply(adj_t, x)  # type: ignore[no-untyped-call]
        return found


class _Gcn(nn.Module):
    """A graph convolution on the undirected graph, with a matrix that is normalised once for all layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = _SymmetricGcn(width, width, normalize=False)

    def forward(self, h: Tensor, graph: Adjacency) -> Tensor:
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
"""GCN: Kipf and Welling 2017 (published in HSDAG); GAT: Velickovic et al. 2018; GIN: Xu et al. 2019; SAGE: Hamilton et
al. 2017; dag: separate weights for each direction. All but `dag` ignore the direction of edges."""


@contextmanager
def _no_temporary_files() -> Iterator[None]:
    """Remove the file that torch_geometric writes for each kind of convolution and leaves behind."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


class GraphLayers(nn.Module):
    """Convolutions, each with ReLU and dropout, followed by a residual connection and layer norm.

    Source: Graph Parsing Networks, arXiv 2402.14393, appendix, the GNN block; HSDAG's equation 6 is one layer of `gcn`.
    """

    def __init__(self, kind: str, width: int, layers: int, dropout: float) -> None:
        """Build the layers.

        Args:
            kind: a key of `CONVOLUTIONS`.
            width: size of embeddings H.
            layers: number of convolutions.
            dropout: dropout probability after each.
        """
        super().__init__()
        with _no_temporary_files():
            self.layers = nn.ModuleList(CONVOLUTIONS[kind](width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, h: Tensor, graph: Adjacency) -> Tensor:
        """Return embeddings of nodes and their neighbourhood.

        Args:
            h: node embeddings, `[N, H]`.
            graph: the edges.

        Returns:
            `[N, H]`.
        """
        out = h
        for layer in self.layers:
            out = self.dropout(torch.relu_(layer(out, graph)))
        found: Tensor = self.norm(h + out)
        return found
