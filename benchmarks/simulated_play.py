"""Searches on simulated machines, one placement after the other: what the benchmarks of placers share."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from calibration import build as build_model

from ovplace.backends.simulate import Backend
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, Job, MeasureSpec, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_certified
from ovplace.experiments.execute import ONE_THREAD
from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.read import own_name, read_graph
from ovplace.plugins import registry
from ovplace.plugins.protocols import Placer
from ovplace.search.loop import IDLE
from ovplace.session.measurer import ratio
from ovplace.session.problem import make_problem
from ovplace.simulation.machine_file import load_machine


@dataclass(frozen=True)
class Arm:
    """What is compared: a placer, its settings, how the model is coarsened, placements measured."""

    placer: str
    budget: int
    coarsener: str = "chains"
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A prepared model in a folder, and a simulated machine."""

    folder: str
    model: str
    machine: str

    @property
    def path(self) -> Path:
        """Where the model lies."""
        return Path(self.folder) / f"{self.model}.xml"


@dataclass
class Played:
    """A search that is over.

    Attributes:
        placer: what was asked.
        measure: what answered.
        trials: its answers, in order.
        counts: how many placements had been measured at each.
        own_s: seconds of the placer until each was asked for, setting it up included.
        total_s: the same at the end.
        ended: why it ended: `budget`, `exhausted` (nothing is left to ask), `idle` (nothing new was asked for long) or
            `enough`.
    """

    placer: Placer
    measure: Measure
    trials: list[Trial] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    own_s: list[float] = field(default_factory=list)
    total_s: float = 0.0
    ended: str = "budget"


def workers(jobs: int, prepare: Callable[[], None]) -> ProcessPoolExecutor:
    """Return fresh processes that have one thread each, numpy's linear algebra included."""
    os.environ.update(ONE_THREAD)  # read when numpy is imported, which these processes have yet to do
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=prepare)


def one_thread() -> None:
    """Let torch compute with one thread, as the benchmarks run side by side."""
    import torch

    torch.set_num_threads(1)


def build(models: Sequence[str], folder: Path) -> None:
    for name in models:
        build_model(name, folder)


@contextmanager
def apart(place: Place) -> Iterator[Place]:
    """Give a search a folder of its own for a while: the simulation counts requests beside the model."""
    with tempfile.TemporaryDirectory() as folder:
        own = replace(place, folder=folder)
        for suffix in (".xml", ".bin"):
            own.path.with_suffix(suffix).symlink_to(place.path.with_suffix(suffix))
        yield own


def backend(place: Place, seed: int, kind: type[Backend] = Backend) -> Backend:
    options = {"machine": place.machine, "noise": 1.0, "seed": seed}
    return kind(Job(str(place.path), load_machine(place.machine).as_devices(), options=options))


@cache
def model_of(place: Place) -> tuple[OpGraph, Partition, CostTable]:
    """Return the operations, their legal groups, and what these cost."""
    graph = read_graph(place.path)
    legal = legal_groups(graph)
    return graph, legal, load_machine(place.machine).table(graph, legal, own_name(place.path))


def optimum(place: Place, time_limit_s: float = 60) -> tuple[float, float]:
    """Return the latency of the best placement of legal groups that the solvers find, and what none goes below."""
    _, _, table = model_of(place)
    best = best_certified(table, time_limit_s)
    return best.value_ms, best.lower_bound_ms


def true_ms(place: Place, placements: Sequence[Placement]) -> FloatArray:
    """Return the latencies without noise, `[P]`."""
    _, legal, table = model_of(place)
    return latency_ms(table, legal.lower(np.stack([placement.device_of for placement in placements])))


def play(
    place: Place,
    arm: Arm,
    source: Backend,
    seed: int,
    enough: Enough | None = None,
    believed: Callable[[CostTable], CostTable] = lambda costs: costs,
) -> Played:
    """Search until the budget is spent or nothing new is asked for, by the rules of a run; or until it is enough.

    Placers that take costs get what is `believed` of the true ones.
    """
    plugin = registry.load("placers", arm.placer)
    settings = plugin.config(dict(arm.settings))
    problem = problem_of(place, arm, source, seed)
    if plugin.factory.needs_costs(settings):
        problem = replace(problem, costs=believed(source.costs(problem.partition)))
    start = time.perf_counter()
    placer = plugin.factory(problem, settings)
    own_s = time.perf_counter() - start
    played = Played(placer, Measure(source, len(problem.graph), problem.device_names), total_s=own_s)
    _search(played, arm.budget, enough or (lambda _: False))
    return played


def problem_of(place: Place, arm: Arm, source: Backend, seed: int) -> Problem:
    """Return the problem as a run sets it up, without costs."""
    graph, _, _ = model_of(place)
    config = RunConfig(search=SearchConfig(placer=arm.placer, coarsener=arm.coarsener, seed=seed), placer=arm.settings)
    return make_problem(config, graph, load_machine(place.machine).as_devices(), source.supported())


def _search(played: Played, budget: int, enough: Enough) -> None:
    measure, placer, idle = played.measure, played.placer, 0
    while len(measure.known) < budget:
        if enough(measure):
            played.ended = "enough"
            return
        if idle >= IDLE:
            played.ended = "idle"
            return
        before, start = len(measure.known), time.perf_counter()
        asked = placer.ask(1)
        played.total_s += time.perf_counter() - start
        if not asked:
            played.ended = "exhausted"
            return
        answers = [measure(len(played.trials) + i, placement) for i, placement in enumerate(asked)]
        played.trials += answers
        played.counts += [len(measure.known)] * len(answers)
        played.own_s += [played.total_s] * len(answers)
        idle = idle + len(asked) if len(measure.known) == before else 0
        start = time.perf_counter()
        placer.tell(answers)
        played.total_s += time.perf_counter() - start


class Measure:
    """Answers each placement once, beside the faster single device."""

    def __init__(self, source: Backend, n_ops: int, names: tuple[str, ...]) -> None:
        """Find the fastest single device."""
        self._source = source
        self.known: dict[str, Trial] = {}
        alone = [Candidate(name, Placement.uniform(n_ops, name, names)) for name in names]
        measured = source.measure(alone, MeasureSpec())
        self.reference = min(zip(alone, measured, strict=True), key=lambda pair: pair[1].median_ms)[0]

    def __call__(self, number: int, placement: Placement) -> Trial:
        """Return the answer to a placement, measured now if it is new."""
        if placement.hash not in self.known:
            candidate = Candidate("trial", placement)
            beside, own = self._source.measure([self.reference, candidate], MeasureSpec())
            self.known[placement.hash] = Trial(number, placement, own, ratio(own, beside), "benchmark", False)
        return self.known[placement.hash]


Enough = Callable[[Measure], bool]
"""Whether what was measured is all that is wanted."""
