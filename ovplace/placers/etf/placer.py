"""Greedy list placer after Baechi's m-ETF, for requests whose submodels run one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.cost_model import check_weights, costs_of
from ovplace.placers._base.ranked import RankedPlacer
from ovplace.placers.etf.greedy import GreedyPass
from ovplace.seeds import generator

SUMMARY = "greedy list placement after Baechi's m-ETF, with and without look-ahead"


@dataclass(frozen=True)
class Config:
    """Settings of the greedy placement.

    Attributes:
        weights: factors on the costs of transfers and submodels in the greedy decisions, at least 0; each gives
            several proposals.
        draws: number of further proposals for each weight with randomly perturbed decisions, at least 0.
        cost_noise: standard deviation of the logarithm of the factor on the added latency in a perturbed decision, at
            least 0.
    """

    weights: tuple[float, ...] = (1.0, 0.5, 2.0, 4.0)
    draws: int = 4
    cost_noise: float = 0.2

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_weights(self.weights)
        if self.draws < 0 or not 0 <= self.cost_noise < inf:
            raise ValueError(f"draws and cost_noise must be non-negative, got {self.draws} and {self.cost_noise}")


class Placer(RankedPlacer):
    """Asks for the placements of several greedy passes, the fastest under the cost model first.

    A pass takes the groups in topological order, or the ready group that adds least first, and places each on the
    device with room for it where it adds least latency: its time, the transfer of inputs that are not there yet, the
    overhead of a submodel if no neighbour is there, less the fusion savings with neighbours that are there. With
    look-ahead it also counts the least latency that its readers will then add; on a chain that is exact.

    m-ETF (Jeon et al., "Baechi: fast device placement of machine learning graphs", SoCC 2020) takes the ready task and
    the device with the earliest start time, because its devices work at the same time. A request of HETERO runs its
    submodels one after another, so the added latency takes the place of the start time. Taken from m-ETF are the list
    order, the greedy choice and the memory limit, by which a full device is skipped. Fusion savings, submodels, the
    look-ahead and the number of proposals to be measured are not part of it.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Make all proposals.

        Raises:
            PlacementError: the problem has no costs.
        """
        super().__init__(problem, _proposals(problem, costs_of(problem), config))


def _proposals(problem: Problem, table: CostTable, config: Config) -> Iterator[IntArray]:
    rng = generator(problem.seed, "placer", "etf")
    certain = np.ones((table.n_groups, table.n_devices))
    for weight in config.weights:
        greedy = GreedyPass(problem, table, weight)
        ahead = greedy.look_ahead()
        found = [greedy.in_order(ahead * scale, certain) for scale in (0, 1)] + [greedy.ready_first(ahead * 0)]
        for draw in range(config.draws):
            noise = np.exp(config.cost_noise * rng.standard_normal(certain.shape))
            found.append(greedy.in_order(ahead * (draw % 2), noise))
        yield from (choice for choice in found if choice is not None)
