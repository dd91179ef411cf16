"""Environment of Placeto's episodes: a placement problem whose latency is predicted by a cost model.

Placeto evaluates placements by its simulator as well; the latency model here is that of HETERO, or, with `makespan`,
one of devices that run in parallel.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_known
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.cost_model import costs_of
from ovplace.placers.placeto.config import Config
from ovplace.placers.placeto.makespan import makespan_ms
from ovplace.placers.placeto.network import Placeto
from ovplace.placers.placeto.observation import PlacetoGraph
from ovplace.placers.placeto.rollout import run_episodes
from ovplace.seeds import generator


class PlacetoEnvironment:
    """A problem as Placeto's episodes see it: the policy's inputs, and the latency of placements by the cost model.

    Attributes:
        graph: inputs of the policy.
        uniform: every group on the same device as far as possible, one row per device, `[D, G]`.
        best_uniform: the fastest of these, `[G]`.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Evaluate the single-device placements.

        Args:
            problem: the placement problem, with costs.
            config: cost model and penalty for exceeded memory.

        Raises:
            PlacementError: the problem has no costs.
        """
        self._table, self._config = costs_of(problem), config
        self.graph = PlacetoGraph.of(problem, self._table)
        if config.order == "random":
            visits = generator(problem.seed, "placer", "placeto", "order").permutation(len(self.graph))
            self.graph = replace(self.graph, visits=visits)
        self.uniform = self.graph.repaired(self._table.uniform_choices())
        alone_ms = self.latency_ms(self.uniform)
        self.best_uniform, self._unit_ms = self.uniform[alone_ms.argmin()], float(alone_ms.min()) or 1.0

    @cached_property
    def best_known(self) -> IntArray:
        """The best placement that the solvers find, `[G]`."""
        return self.graph.repaired(best_known(self._table))

    def latency_ms(self, choices: IntArray) -> FloatArray:
        """Return the latency of placements `[..., G]`, with a penalty for exceeded memory, ms `[...]`."""
        table, flat = self._table, choices.reshape(-1, choices.shape[-1])
        simulate = makespan_ms(table, flat, self.graph.order) if self._config.makespan else latency_ms(table, flat)
        lack = np.maximum(table.used_bytes(flat) / np.maximum(table.memory_bytes, 1.0) - 1.0, 0.0).sum(axis=1)
        return np.asarray(simulate * (1.0 + self._config.memory_penalty * lack)).reshape(choices.shape[:-1])

    def relative(self, ms: FloatArray) -> FloatArray:
        """Return latencies in ms divided by that of the best single device."""
        return ms / self._unit_ms

    def zero_shot_choice(self, network: Placeto) -> IntArray:
        """Return the best placement visited in one greedy sweep from the best single device, `[G]`."""
        episodes = run_episodes(network, self.graph, self.best_uniform[None], replace(self._config, sweeps=1))
        return np.asarray(episodes.visited[self.latency_ms(episodes.visited)[:, 0].argmin(), 0])
