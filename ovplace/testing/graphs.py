"""Small synthetic graphs and problems, and a latency oracle for searches, without OpenVINO."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.core.measurement import ErrorKind, Measurement, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.core.traffic import Traffic
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import BoolArray, FloatArray, OpGraph
from ovplace.plugins.protocols import Placer
from ovplace.seeds import generator

KINDS = ("Convolution", "Add", "Multiply", "Relu", "Sin", "MatMul")

TENSOR_BYTES = 1000


def graph(types: Sequence[str], edges: Iterable[tuple[int, int]]) -> OpGraph:
    """Return a graph of single-output operations of the given types, `[N]`, joined by `edges`.

    Args:
        types: operation type of each node.
        edges: (source, target) pairs; the n-th edge into a node enters its input port n.
    """
    pairs, seen = list(edges), [0] * len(types)
    ports = []
    for _, target in pairs:
        ports.append((0, seen[target]))
        seen[target] += 1
    n = len(types)
    return OpGraph(
        names=tuple(f"{kind}_{i}" for i, kind in enumerate(types)),
        types=tuple(types),
        attributes=({},) * n,
        edges=np.array(pairs, dtype=np.int64).reshape(-1, 2).T,
        ports=np.array(ports, dtype=np.int64).reshape(-1, 2).T,
        shapes=(((1, TENSOR_BYTES // 4),),) * n,
        element_types=(("f32",),) * n,
        out_bytes=np.full(len(pairs), TENSOR_BYTES),
        content_hash=f"synthetic-{n}-{len(pairs)}",
    )


def chain(types: Sequence[str]) -> OpGraph:
    """Return a graph in which each operation feeds the next."""
    return graph(types, zip(range(len(types)), range(1, len(types)), strict=False))


def random_chain(n: int, seed: int) -> OpGraph:
    """Return a chain of operations of random types.

    Args:
        n: their number.
        seed: seed of the types.
    """
    return chain([KINDS[k] for k in generator(seed, "testing", "kinds").integers(len(KINDS), size=n)])


def diamond() -> OpGraph:
    """Return one operation that feeds two branches of two operations, and one that joins them."""
    types = ("Convolution", "Sin", "Multiply", "MatMul", "Relu", "Add")
    return graph(types, [(0, 1), (1, 2), (0, 3), (3, 4), (2, 5), (4, 5)])


def layered(n: int, seed: int, width: int = 3) -> OpGraph:
    """Return a random DAG of `n` operations that reads at most `3 * width` operations back.

    Some operations read one tensor twice, so that there are parallel edges.

    Args:
        n: number of operations.
        seed: seed of the draw.
        width: a third of the number of operations that an edge spans at most.
    """
    rng = generator(seed, "testing", "layered", n)
    types = [KINDS[k] for k in rng.integers(len(KINDS), size=n)]
    edges = [
        (int(rng.integers(max(0, node - 3 * width), node)), node)
        for node in range(1, n)
        for _ in range(1 + int(rng.integers(2)))
    ]
    return graph(types, edges)


def renamed(of: OpGraph) -> OpGraph:
    """Return the same graph under other operation names."""
    return _permuted(of, np.arange(len(of)), prefix="other/")


def reordered(of: OpGraph, permutation: Sequence[int]) -> OpGraph:
    """Return the same graph with operation `permutation[i]` at index i.

    Args:
        of: the graph.
        permutation: the old index of each operation, `[N]`.
    """
    return _permuted(of, np.asarray(permutation, dtype=np.int64), prefix="")


def _permuted(of: OpGraph, order: np.ndarray[tuple[int], np.dtype[np.int64]], prefix: str) -> OpGraph:
    position = np.argsort(order)
    return OpGraph(
        names=tuple(prefix + of.names[i] for i in order),
        types=tuple(of.types[i] for i in order),
        attributes=tuple(of.attributes[i] for i in order),
        edges=position[of.edges],
        ports=of.ports,
        shapes=tuple(of.shapes[i] for i in order),
        element_types=tuple(of.element_types[i] for i in order),
        out_bytes=of.out_bytes,
        content_hash=of.content_hash,
    )


def devices(count: int) -> tuple[Device, ...]:
    """Return `count` variants of a CPU, `[D]`."""
    return tuple(Device(f"CPU_{i}", "CPU") for i in range(count))


def problem(
    of: OpGraph,
    n_devices: int = 2,
    seed: int = 0,
    partition: Partition | None = None,
    supported: BoolArray | None = None,
) -> Problem:
    """Return the problem of placing a graph, with random costs.

    Args:
        of: the graph.
        n_devices: number of devices D.
        seed: seed of the problem and of its costs.
        partition: the groups; by default each operation is a group.
        supported: which device can run which operation, `[N, D]`; by default all.
    """
    bare = Problem(
        graph=of,
        partition=partition or Partition.identity(len(of)),
        devices=devices(n_devices),
        supported=np.ones((len(of), n_devices), dtype=bool) if supported is None else supported,
        features=np.zeros((len(of), 1)),
        seed=seed,
    )
    return replace(bare, costs=costs(bare, seed))


@dataclass(frozen=True, eq=False)
class SequentialCost:
    """Latency under HETERO: operations one after another, plus the costs of transfers and submodels.

    Attributes:
        op_ms: time of each operation on each device, `[N, D]`.
        ms_per_byte: time to move one byte to another device.
        submodel_ms: overhead of each connected region of one device.
    """

    op_ms: FloatArray
    ms_per_byte: float = 1e-4
    submodel_ms: float = 0.1

    @classmethod
    def by_kind(cls, of: OpGraph, table: dict[str, Sequence[float]], **rest: float) -> SequentialCost:
        """Return the cost in which all operations of one type take the same time, ms on each device.

        Args:
            of: the graph.
            table: time in ms on each device, by operation type.
            **rest: other attributes.
        """
        return cls(np.array([table[kind] for kind in of.types], dtype=np.float64), **rest)

    @classmethod
    def random(
        cls, of: OpGraph, seed: int, n_devices: int = 2, submodel_ms: float = 0.15, **rest: float
    ) -> SequentialCost:
        """Return the cost with a random time for each operation on each device, of about 1 ms.

        Args:
            of: the graph.
            seed: seed of the draw.
            n_devices: number of devices.
            submodel_ms: overhead of each connected region of one device.
            **rest: other attributes.
        """
        times = generator(seed, "testing", "cost").lognormal(0.0, 0.8, size=(len(of), n_devices))
        return cls(times, submodel_ms=submodel_ms, **rest)

    @classmethod
    def alternating(cls, n: int, ms_per_byte: float = 0.0) -> SequentialCost:
        """Return the cost in which even operations take 1 ms on the first of two devices, odd ones on the second.

        On the other device they take 3 ms; submodels cost nothing.

        Args:
            n: number of operations.
            ms_per_byte: time to move one byte to another device.
        """
        times = np.where((np.arange(n)[:, None] + np.arange(2)) % 2, 3.0, 1.0)
        return cls(times, ms_per_byte=ms_per_byte, submodel_ms=0.0)

    def latency_ms(self, of: OpGraph, placement: Placement) -> float:
        """Return the latency of one inference in ms.

        Args:
            of: the graph.
            placement: device of each operation.
        """
        work = self.op_ms[np.arange(len(of)), placement.device_of].sum()
        source, target = placement.device_of[of.edges]
        regions = connected_labels(len(of), of.edges[:, source == target]).max(initial=-1) + 1
        return float(work + placement.cut_bytes(of) * self.ms_per_byte + regions * self.submodel_ms)


def trial_of(number: int, placement: Placement, latency_ms: float, reference_ms: float = 1.0) -> Trial:
    """Return a trial with one sample; an infinite latency gives a failure.

    Args:
        number: number of the trial.
        placement: the measured placement.
        latency_ms: latency in ms; infinite for a failure.
        reference_ms: latency of the reference in ms.
    """
    if np.isinf(latency_ms):
        return Trial(number, placement, Measurement.failed(ErrorKind.COMPILE, "refused"), float("inf"), "test")
    measurement = Measurement(samples_ms=(latency_ms,), blocks=(1,))
    return Trial(number, placement, measurement, latency_ms / reference_ms, "test")


def run_search(placer: Placer, of: Problem, cost: SequentialCost, budget: int, batch: int = 1) -> list[Trial]:
    """Run a search against the oracle; ratios are relative to the placement on the first device.

    Args:
        placer: the search.
        of: its problem.
        cost: the latency of each placement.
        budget: maximum number of trials.
        batch: number of placements asked for at a time.
    """
    reference = cost.latency_ms(of.graph, of.lift(np.zeros(of.n_groups, dtype=np.int64)))
    trials: list[Trial] = []
    while len(trials) < budget and (asked := placer.ask(min(batch, budget - len(trials)))):
        answers = [
            trial_of(len(trials) + i, placement, cost.latency_ms(of.graph, placement), reference)
            for i, placement in enumerate(asked)
        ]
        placer.tell(answers)
        trials += answers
    return trials


def every_placement(of: Problem) -> Iterator[Placement]:
    """Yield every placement of a problem, up to D to the power of G."""
    options = [np.flatnonzero(row).tolist() for row in of.allowed]
    return (of.lift(choice) for choice in product(*options))


def optimum_ms(of: Problem, cost: SequentialCost) -> float:
    """Return the lowest latency of all placements in ms, by trying each.

    Args:
        of: the problem.
        cost: the latency of each placement.
    """
    return min(cost.latency_ms(of.graph, placement) for placement in every_placement(of))


def costs(of: Problem, seed: int = 0, transfer_ms: float = 0.3, submodel_ms: float = 0.1) -> CostTable:
    """Return random costs for the groups of a problem, with links that differ by direction, and some fused pairs.

    Args:
        of: the problem; the time of a group on a device that cannot run it is infinite.
        seed: seed of the draw.
        transfer_ms: scale of the cost of a transfer, where a group takes 1 ms.
        submodel_ms: scale of the overhead of a submodel.
    """
    rng = generator(seed, "testing", "costs", of.n_groups)
    g, d, q = of.n_groups, len(of.devices), of.quotient.edges.shape[1]
    work = np.where(of.allowed, rng.gamma(2.0, 0.5, (g, d)), np.inf)
    fused = rng.random((q, d)) * (rng.random((q, 1)) < 0.3)
    ends = np.minimum(work[of.quotient.edges[0]], work[of.quotient.edges[1]])
    return CostTable(
        traffic=Traffic.between(of.graph, of.partition),
        edges=of.quotient.edges,
        group_ms=work,
        saving_ms=0.25 * fused * np.where(np.isfinite(ends), ends, 0.0),
        latency_ms=transfer_ms * rng.random((d, d)),
        ms_per_byte=transfer_ms * rng.random((d, d)) / 1000,
        submodel_ms=submodel_ms * rng.random(d),
        group_bytes=1000.0 * rng.random(g),
        memory_bytes=np.full(d, np.inf),
        source="random",
    )


def limited_costs(seed: int) -> CostTable:
    """Return the costs of a random model of 1 to 24 groups on one to three devices, which cannot run some of them.

    Args:
        seed: seed of the draw; for every third one, no device has the memory for the whole model.
    """
    rng = generator(seed, "testing", "limited costs")
    n, devices = int(rng.integers(1, 25)), int(rng.integers(1, 4))
    runs = rng.random((n, devices)) < 0.8
    runs[np.arange(n), rng.integers(devices, size=n)] = True
    table = costs(problem(layered(n, seed), devices, seed, supported=runs), seed)
    return replace(table, memory_bytes=np.where(seed % 3, np.inf, 0.7 * table.group_bytes.sum()))
