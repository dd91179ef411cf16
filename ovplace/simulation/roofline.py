"""The time of operations on a simulated device: the roofline of arithmetic and memory, plus a launch for each kernel.

Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray, OpGraph
from ovplace.graphs.work import Work


@dataclass(frozen=True)
class Roofline:
    """The speed of a device.

    Attributes:
        peak_gflops: arithmetic peak in GFLOP/s, in the precision that the device computes in.
        gb_per_s: bandwidth of its memory in GB/s, as data sheets have it.
        memory_efficiency: part of that bandwidth that operations reach.
        cache_mb: size of its last cache in MB; 0 for none.
        cache_gb_per_s: bandwidth of that cache in GB/s.
        efficiency: part of the peak that operations reach.
        efficiencies: the same for single operation types.
        launch_us: cost of starting each kernel in µs; none for an operation that is fused into its producer.

    Raises:
        ValueError: a number is not possible.
    """

    peak_gflops: float = 0.0
    gb_per_s: float = 0.0
    memory_efficiency: float = 0.8
    cache_mb: float = 0.0
    cache_gb_per_s: float = 0.0
    efficiency: float = 0.5
    efficiencies: Mapping[str, float] = field(default_factory=dict)
    launch_us: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("peak_gflops", "gb_per_s", *(["cache_gb_per_s"] if self.cache_mb else [])):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be given and positive, got {getattr(self, name)}")
        for name in ("cache_mb", "launch_us"):
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        by_type = {f"efficiencies.{kind}": part for kind, part in self.efficiencies.items()}
        parts = {"efficiency": self.efficiency, "memory_efficiency": self.memory_efficiency} | by_type
        for name, value in parts.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
                raise ValueError(f"{name} must lie above 0 and not above 1, got {value}")

    def op_ms(self, graph: OpGraph, of: Work) -> FloatArray:
        """Return the time of each operation by itself, ms `[N]`.

        Args:
            graph: the model.
            of: its work.
        """
        moved = self._weights_ms(of) + self._tensors_ms(of, of.read_bytes + of.write_bytes)
        return np.asarray(np.maximum(self._arithmetic_ms(graph, of), moved) + of.kernels * self.launch_us * 1e-3)

    def fused_ms(self, graph: OpGraph, of: Work, inner_bytes: FloatArray) -> FloatArray:
        """Return the time that each operation adds to a producer that it is fused into, ms `[N]`.

        Args:
            graph: the model.
            of: its work.
            inner_bytes: bytes that each operation reads from that producer, `[N]`. They stay in registers, and its
                output takes the place of the producer's.
        """
        moved = self._weights_ms(of) + self._tensors_ms(of, of.read_bytes - inner_bytes)
        return np.maximum(self._arithmetic_ms(graph, of), moved)

    def _arithmetic_ms(self, graph: OpGraph, of: Work) -> FloatArray:
        reached = np.array([self.efficiencies.get(kind, self.efficiency) for kind in graph.types], dtype=np.float64)
        return np.asarray(of.flops / (self.peak_gflops * 1e6 * reached))

    @property
    def _reached_gb_per_s(self) -> float:
        return self.gb_per_s * self.memory_efficiency

    def _weights_ms(self, of: Work) -> FloatArray:
        """Weights stay in the cache from one inference to the next only if all of the model's fit."""
        cached = 0 < of.weight_bytes.sum() <= self.cache_mb * 1e6
        return np.asarray(of.weight_bytes / (1e6 * (self.cache_gb_per_s if cached else self._reached_gb_per_s)))

    def _tensors_ms(self, of: Work, n_bytes: FloatArray) -> FloatArray:
        """Tensors come from the cache where all that an operation reads and writes fits."""
        cached = (of.read_bytes + of.write_bytes <= self.cache_mb * 1e6) & (self.cache_mb > 0)
        return np.asarray(n_bytes / (1e6 * np.where(cached, self.cache_gb_per_s, self._reached_gb_per_s)))


def fused_edges(graph: OpGraph, fusable: Mapping[str, tuple[str, ...]], of: Work) -> IntArray:
    """Return the edges over which an operation is fused into its producer if both are on one device, `[F]`.

    An operation joins one producer at most, that of its inputs which is computed last, and a producer takes one
    reader at most, its only one: so what fusions save adds up.

    Args:
        graph: the model.
        fusable: producer type to the types that can be fused into it.
        of: the model's work.
    """
    chosen: dict[int, int] = {}
    for edge in _fusable_edges(graph, fusable, of):
        source, reader = graph.edges[:, edge].tolist()
        best = chosen.get(reader)
        if best is None or graph.rank[source] > graph.rank[graph.edges[0, best]]:
            chosen[reader] = edge
    return np.array(sorted(chosen.values()), dtype=np.int64)


def _fusable_edges(graph: OpGraph, fusable: Mapping[str, tuple[str, ...]], of: Work) -> Iterator[int]:
    for edge, (source, reader) in enumerate(graph.edges.T.tolist()):
        runs = of.kernels[source] and of.kernels[reader] and graph.out_degree[source] == 1
        if runs and graph.types[reader] in fusable.get(graph.types[source], ()):
            yield edge
