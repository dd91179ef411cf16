"""Graph partitioning with METIS: one part for each device, with a small total cost of the edges between parts.

Balanced partitioning is the classical way to place a graph on devices that work at the same time. HETERO runs its
submodels one after another and gains nothing from balance, so the balance is swept from shares proportional to the
devices' speeds to a single device, and the cost model ranks the proposals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.graphs.metis import WeightedGraph
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.cost_model import costs_of
from ovplace.placers._base.ranked import RankedPlacer
from ovplace.seeds import generator

SUMMARY = "METIS graph partitioning for several balances between the devices (extra 'partition')"

MAX_PERMUTED = 4
"""Number of devices up to which all assignments of parts to devices are tried; beyond it, only cyclic ones."""


@dataclass(frozen=True)
class Config:
    """Settings of the partitioning.

    Attributes:
        steps: number of target balances, from shares proportional to the devices' speeds towards each single device,
            at least 1.
    """

    steps: int = 8

    def __post_init__(self) -> None:
        """Check the steps."""
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, got {self.steps}")


class Placer(RankedPlacer):
    """Partitions the groups into one part for each device by METIS bisection, and assigns the parts in several ways.

    The weight of a group is its mean time over the devices, that of an edge its mean transfer cost and fusion saving.
    A group that cannot run on the device of its part goes to the device that runs it fastest.

    Source: Karypis and Kumar, "A fast and high quality multilevel scheme for partitioning irregular graphs", SIAM J.
    Sci. Comput. 20, 1998. Mirhoseini et al. 2017 (arXiv 1706.04972) compare with such a partitioner, Scotch.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Make all proposals."""
        super().__init__(problem, _proposals(problem, costs_of(problem), config))


def _proposals(problem: Problem, table: CostTable, config: Config) -> Iterator[IntArray]:
    seed = int(generator(problem.seed, "placer", "partition").integers(2**31))
    graph = WeightedGraph(_finite_mean(table.group_ms, axis=1), *_edges(table), seed)
    work = np.where(problem.allowed, table.group_ms, np.inf)
    fastest, groups = work.argmin(axis=1), np.arange(table.n_groups)
    for shares in _shares(table, config.steps):
        parts = graph.parts(shares)
        for device_of_part in _assignments(table.n_devices):
            choice = np.array(device_of_part)[parts]
            yield np.where(np.isfinite(work[groups, choice]), choice, fastest)


def _shares(table: CostTable, steps: int) -> Iterator[FloatArray]:
    """Yield the target share of the work of each part, `[D]`: by speed, then shifted to each part in turn."""
    speed = 1 / np.maximum(_finite_mean(table.group_ms, axis=0), 1e-12)
    even = speed / speed.sum()
    yield even
    for towards in np.arange(1, steps) / steps:
        for alone in np.eye(len(even)) if len(even) > 1 else ():
            yield (1 - towards) * even + towards * alone


def _assignments(n_devices: int) -> Iterator[Sequence[int]]:
    if n_devices <= MAX_PERMUTED:
        yield from permutations(range(n_devices))
    else:
        yield from (np.roll(np.arange(n_devices), shift).tolist() for shift in range(n_devices))


def _edges(table: CostTable) -> tuple[IntArray, FloatArray]:
    """Return the edges `[2, E]`, some of them parallel, and the cost of cutting them in ms, `[E]`."""
    d, traffic = table.n_devices, table.traffic
    moved = table.transfer_ms().sum(axis=(1, 2)) / max(1, d * (d - 1))
    ends = np.concatenate([traffic.pairs, table.edges], axis=1)
    return ends, np.concatenate([moved[traffic.tensor_of], table.saving_ms.mean(axis=1)])


def _finite_mean(values: FloatArray, axis: int) -> FloatArray:
    finite = np.isfinite(values)
    total = np.where(finite, values, 0.0).sum(axis=axis)
    return np.asarray(total / np.maximum(finite.sum(axis=axis), 1))
