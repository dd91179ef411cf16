"""The operations of a model as immutable arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ovplace.graphs.dag import topological_order
from ovplace.graphs.op_kinds import GRAPH_INPUTS

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Shape = tuple[int, ...]


def frozen_array(values: object) -> IntArray:
    """Return a read-only integer copy of `values`.

    Raises:
        ValueError: a value is infinite or not a number.
    """
    try:
        with np.errstate(invalid="raise"):
            array: IntArray = np.array(values, dtype=np.int64)
    except FloatingPointError as error:
        raise ValueError("indices must be finite numbers") from error
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class OpGraph:
    """A directed acyclic multigraph of operations, indexed 0..N-1.

    Attributes:
        names: friendly names, unique, `[N]`.
        types: operation types such as `Convolution`, `[N]`.
        attributes: attribute name to text, for each op, `[N]`.
        edges: source and destination op of each connection, `[2, E]`; parallel edges are real (`a * a`).
        ports: output port at the source and input port at the destination, `[2, E]`.
        shapes: shape of each output of each op, `[N][outputs]`; -1 is a dynamic dimension.
        element_types: element type of each output of each op, such as `f32`, `[N][outputs]`.
        out_bytes: size of the tensor on each edge in bytes, `[E]`; dynamic dimensions count as 1.
        content_hash: hash of the model's structure and constants, independent of file names and rt_info.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    attributes: tuple[Mapping[str, str], ...] = field(repr=False)
    edges: IntArray = field(repr=False)
    ports: IntArray = field(repr=False)
    shapes: tuple[tuple[Shape, ...], ...] = field(repr=False)
    element_types: tuple[tuple[str, ...], ...] = field(repr=False)
    out_bytes: IntArray = field(repr=False)
    content_hash: str

    def __post_init__(self) -> None:
        """Freeze the arrays and check that they describe one acyclic graph."""
        for name, shape in (("edges", (2, -1)), ("ports", (2, -1)), ("out_bytes", (-1,))):
            object.__setattr__(self, name, frozen_array(np.reshape(getattr(self, name), shape)))
        n, e = len(self.names), self.edges.shape[1]
        for label, length, expected in (
            ("types", len(self.types), n),
            ("attributes", len(self.attributes), n),
            ("shapes", len(self.shapes), n),
            ("element_types", len(self.element_types), n),
            ("ports", self.ports.shape[1], e),
            ("out_bytes", len(self.out_bytes), e),
        ):
            if length != expected:
                raise ValueError(f"expected {expected} {label}, got {length}")
        if len(set(self.names)) != n:
            raise ValueError("operation names must be unique")
        if (outside := self.edges[(self.edges < 0) | (self.edges >= n)]).size:
            raise ValueError(f"edges must refer to operations 0..{n - 1}, got {outside[0]}")
        _ = self.order

    def __len__(self) -> int:
        """Return the number of operations N."""
        return len(self.names)

    @cached_property
    def order(self) -> IntArray:
        """Operations in a topological order, `[N]`; among the ready ones the lowest index comes first."""
        return topological_order(len(self), self.edges)

    @cached_property
    def rank(self) -> IntArray:
        """Position of each operation in `order`, `[N]`."""
        return np.argsort(self.order)

    @cached_property
    def is_constant(self) -> BoolArray:
        """Whether each operation is a Constant, `[N]`."""
        return np.array([kind == "Constant" for kind in self.types], dtype=bool)

    @cached_property
    def is_result(self) -> BoolArray:
        """Whether each operation is a Result, `[N]`."""
        return np.array([kind == "Result" for kind in self.types], dtype=bool)

    @cached_property
    def is_computed(self) -> BoolArray:
        """Whether each operation is neither a Parameter nor a Constant, `[N]`."""
        return np.array([kind not in GRAPH_INPUTS for kind in self.types], dtype=bool)

    @cached_property
    def is_only_reader(self) -> BoolArray:
        """Whether each edge carries a computed tensor that nothing else reads, `[E]`."""
        tensor = np.stack([self.edges[0], self.ports[0]])
        _, inverse, count = np.unique(tensor, axis=1, return_inverse=True, return_counts=True)
        return np.asarray((count[inverse.reshape(-1)] == 1) & self.is_computed[self.edges[0]])

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Operation index by friendly name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def all_types(self) -> frozenset[str]:
        """Types of all operations, those in bodies of If, Loop and TensorIterator among them."""
        texts = (attributes.items() for attributes in self.attributes)
        inside = (text.split(",") for items in texts for key, text in items if re.fullmatch(r"body_\d+_types", key))
        return frozenset(self.types).union(*inside)

    @cached_property
    def in_degree(self) -> IntArray:
        """Number of incoming edges of each operation, parallel ones counted, `[N]`."""
        return np.bincount(self.edges[1], minlength=len(self)).astype(np.int64)

    @cached_property
    def out_degree(self) -> IntArray:
        """Number of outgoing edges of each operation, parallel ones counted, `[N]`."""
        return np.bincount(self.edges[0], minlength=len(self)).astype(np.int64)

    @cached_property
    def incoming(self) -> tuple[tuple[int, ...], ...]:
        """Incoming edges of each operation in index order, `[N]`."""
        edges: list[list[int]] = [[] for _ in range(len(self))]
        for edge, target in enumerate(self.edges[1].tolist()):
            edges[target].append(edge)
        return tuple(map(tuple, edges))

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """Distinct successors of each operation in port order, `[N]`."""
        return _neighbours(len(self), self.edges[0], self.edges[1])

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Distinct predecessors of each operation in port order, `[N]`."""
        return _neighbours(len(self), self.edges[1], self.edges[0])


def _neighbours(n: int, key: IntArray, other: IntArray) -> tuple[tuple[int, ...], ...]:
    lists: list[dict[int, None]] = [{} for _ in range(n)]
    for a, b in zip(key.tolist(), other.tolist(), strict=True):
        lists[a][b] = None
    return tuple(tuple(found) for found in lists)
