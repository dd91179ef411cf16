"""What a policy is trained and judged on: a model on a machine, with the best placement that solvers know."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ovplace import zoo
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_certified, best_known
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import IntArray, OpGraph
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.plugins.registry import fill
from ovplace.session.problem import compute_features, form_groups
from ovplace.simulation.machine import Machine


@dataclass(frozen=True)
class Graph:
    """A model that is built when it is needed.

    Attributes:
        label: what tables call it.
        recipe: name of a recipe of `ovplace models`.
        options: its options.
    """

    label: str
    recipe: str
    options: Mapping[str, object] = field(default_factory=dict)


MIXED = 1.01
"""The best single device is slower than the best placement by more than that: there is something to decide."""


@dataclass(frozen=True, eq=False)
class Case:
    """One placement problem.

    Attributes:
        graph: label of the model.
        machine: name of the machine.
        problem: what a policy sees, with costs.
        best_ms: latency of the best placement that solvers found.
        single_ms: latency on the best single device; infinite where none runs all of it.
    """

    graph: str
    machine: str
    problem: Problem
    best_ms: float
    single_ms: float

    @property
    def mixed(self) -> bool:
        """Whether the best placement needs several devices."""
        return self.single_ms > MIXED * self.best_ms

    def over_best(self, choice: IntArray) -> float:
        """Return the latency of a placement `[G]` over the best one known; infinite where it cannot run."""
        costs = self.problem.costs
        assert costs is not None
        return float(latency_ms(costs, choice[None])[0]) / self.best_ms


def cases(
    graph: Graph, machines: Iterable[Machine], features: Sequence[str], seed: int, solver_s: float
) -> Iterator[Case]:
    """Yield a model on each machine that can run it, in groups of the default coarsener.

    Args:
        graph: the model, which is built once.
        machines: where it is placed.
        features: names of the node features.
        seed: of the problems.
        solver_s: time limit of the mixed-integer program; 0 does without it.
    """
    read = _read(graph)
    partition = form_groups(RunConfig(search=SearchConfig(seed=seed)), read)
    rows = compute_features(read, features)
    for machine in machines:
        try:
            costs = machine.table(read, partition)
        except PlacementError:
            continue
        problem = Problem(read, partition, machine.as_devices(), machine.supported(read), rows, seed, costs)
        yield Case(graph.label, machine.name, problem, *_known_ms(costs, solver_s))


def _known_ms(costs: CostTable, solver_s: float) -> tuple[float, float]:
    """Return the latencies of the best placement that solvers find, and of the best single device."""
    best = best_known(costs)
    if solver_s:
        best = best_certified(costs, solver_s, [best]).device_of
    return float(latency_ms(costs, best[None])[0]), float(latency_ms(costs, costs.uniform_choices()).min())


def _read(graph: Graph) -> OpGraph:
    config = fill(zoo.recipe(graph.recipe).Config, dict(graph.options), graph.recipe)
    with tempfile.TemporaryDirectory() as folder:
        built, prepared = Path(folder) / "built.xml", Path(folder) / "prepared.xml"
        zoo.save(graph.recipe, config, built)
        prepare(built, prepared)
        return read_graph(prepared)
