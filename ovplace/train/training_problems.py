"""Problems to train and evaluate a policy on: a model on a simulated machine, with its best known latency."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ovplace import zoo
from ovplace.config.resolve import choose_plugin
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.build_dataclass import build_dataclass
from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_certified, best_known
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import IntArray, OpGraph
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.session.problem import compute_features, form_groups
from ovplace.simulation.machine import SimulatedMachine


@dataclass(frozen=True)
class ModelRecipe:
    """A model that is built on demand.

    Attributes:
        label: name in tables.
        recipe: name of a recipe of `ovplace models`.
        options: options of the recipe.
    """

    label: str
    recipe: str
    options: Mapping[str, object] = field(default_factory=dict)


MIXED_RATIO = 1.01
"""A problem is mixed if the best single device is slower than the best placement by more than this factor."""


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """One placement problem and its reference latencies.

    Attributes:
        model: label of the model.
        machine: name of the machine.
        problem: the problem, with costs.
        best_ms: latency of the best placement that the solvers found, ms.
        single_ms: latency on the best single device, ms; infinite if none runs the whole model.
    """

    model: str
    machine: str
    problem: Problem
    best_ms: float
    single_ms: float

    @property
    def mixed(self) -> bool:
        """Whether the best placement is more than 1 % faster than the best single device."""
        return self.single_ms > MIXED_RATIO * self.best_ms

    def over_best(self, choice: IntArray) -> float:
        """Return the latency of a placement `[G]` divided by the best known; infinite if it cannot run."""
        costs = self.problem.costs
        assert costs is not None
        return float(latency_ms(costs, choice[None])[0]) / self.best_ms


def training_problems(
    model: ModelRecipe, machines: Iterable[SimulatedMachine], features: Sequence[str], seed: int, solver_s: float
) -> Iterator[TrainingProblem]:
    """Yield the problem of a model on each machine that can run it, in groups of the default coarsener.

    Args:
        model: the model, which is built once.
        machines: the simulated machines.
        features: names of the node features.
        seed: root seed of the problems.
        solver_s: time limit of the mixed-integer program, seconds; 0 does not use it.

    Raises:
        ConfigError: the recipe has no such option.
        ModelError: the model cannot be written, prepared or read.
        UsageError: there is no such recipe or feature.
    """
    graph = _built_graph(model)
    config = RunConfig(search=SearchConfig(seed=seed))
    rows = compute_features(graph, [choose_plugin("features", name) for name in features])
    for machine in machines:
        partition = form_groups(config, graph, machine.supported(graph))
        try:
            costs = machine.table(graph, partition)
        except PlacementError:
            continue
        problem = Problem(graph, partition, machine.as_devices(), machine.supported(graph), rows, seed, costs)
        yield TrainingProblem(model.label, machine.name, problem, *_reference_ms(costs, solver_s))


def _reference_ms(costs: CostTable, solver_s: float) -> tuple[float, float]:
    """Return the latencies of the best placement that the solvers find, and of the best single device, ms."""
    best = best_known(costs)
    if solver_s:
        best = best_certified(costs, solver_s, [best]).device_of
    return float(latency_ms(costs, best[None])[0]), float(latency_ms(costs, costs.uniform_choices()).min())


def _built_graph(model: ModelRecipe) -> OpGraph:
    config = build_dataclass(zoo.recipe(model.recipe).Config, dict(model.options), model.recipe)
    with tempfile.TemporaryDirectory() as folder:
        built, prepared = Path(folder) / "built.xml", Path(folder) / "prepared.xml"
        zoo.save_recipe(model.recipe, config, built)
        prepare(built, prepared)
        return read_graph(prepared)
